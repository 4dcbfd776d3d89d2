/** Waiting for what happens here: for any change, for the next attempt of one event, until nothing is unsettled. */
import { type Clock, withDeadline } from '../clock.ts'
import type { Awaitable, StoreCounts } from '../inbox/store.ts'
import type { Leased } from './capacity.ts'
import type { ClaimLoop } from './claim-loop.ts'

export interface Notifier {
  tell(): void
  /** Waits for the next change, at most `ms`. Somebody waits for us, so the process must stay. */
  next(ms: number): Promise<void>
}

/** Lets somebody wait until something has changed: an attempt or a claim is over. */
export function createNotifier(clock: Clock): Notifier {
  const waiters = new Set<() => void>()
  return {
    tell() {
      // Each clear() makes a new table, which the old one holds on to: nobody waits mostly, and this is called all the time.
      if (waiters.size === 0) return
      for (const resolve of waiters) resolve()
      waiters.clear()
    },
    async next(ms) {
      let cancel = (): void => {}
      await new Promise<void>((resolve) => {
        waiters.add(resolve)
        cancel = clock.setTimer(resolve, ms, true)
      })
      cancel()
    },
  }
}

export interface NextAttempt {
  /** Resolves when the next attempt of this event is over or none will be made, or after `timeoutMs`. */
  of(id: string, timeoutMs: number): Promise<void>
  isAwaited(id: string): boolean
  over(id: string): void
  /** None will be made any more, but of those that are `kept`. */
  noneBut(kept: (id: string) => boolean): void
}

/** With `answer: 'handled'` a callback is answered when its handlers have run. */
export function createNextAttempt(clock: Clock, notifier: Notifier): NextAttempt {
  const waiters = new Map<string, () => void>()

  function over(id: string): void {
    waiters.get(id)?.()
    waiters.delete(id)
    notifier.tell()
  }

  return {
    of(id, timeoutMs) {
      // An event is new once, so nobody else waits for its attempt.
      const next = new Promise<void>((resolve) => void waiters.set(id, resolve))
      // Another process may make it, and then nobody tells us.
      return withDeadline(clock, timeoutMs, next, () => void waiters.delete(id))
    },
    isAwaited: (id) => waiters.has(id),
    over,
    noneBut(kept) {
      for (const id of waiters.keys()) if (!kept(id)) over(id)
    },
  }
}

/** What another process settles is not announced: look again after this. */
const LOOK_MS = 50

interface DrainOptions {
  readonly clock: Clock
  readonly leased: Leased
  readonly loop: ClaimLoop
  readonly notifier: Notifier
  /** Of the store, and of what is on its way there. */
  readonly counts: () => Awaitable<StoreCounts>
}

/** True when nothing is unsettled any more (of what has not hung, unless `waitForHung`); false when the deadline passed before. */
export type Drain = (deadlineMs: number, options?: { readonly waitForHung?: boolean }) => Promise<boolean>

export function createDrain({ clock, leased, loop, notifier, counts }: DrainOptions): Drain {
  /** Infinity while the store is away: then nobody knows. */
  async function countUnsettled(timeoutMs: number): Promise<number> {
    try {
      const counted = counts()
      if (!(counted instanceof Promise)) return counted.unsettled
      const { unsettled } = await withDeadline(clock, timeoutMs, counted, () => ({ unsettled: Infinity }))
      return unsettled
    } catch {
      return Infinity
    }
  }

  return async (deadlineMs, { waitForHung = true } = {}) => {
    const untilMs = clock.now() + deadlineMs
    const atEase = loop.hurry()
    try {
      for (;;) {
        // Counting a long backlog takes its time, so it is counted only where it may be none.
        const isIdle = leased.atWork === 0 && !loop.claiming
        const unsettled = isIdle ? await countUnsettled(Math.max(untilMs - clock.now(), LOOK_MS)) : Infinity
        if (leased.atWork === 0 && unsettled === 0) return true
        // Apart from the hung ones, whose slots are free.
        if (!waitForHung && leased.atWork === 0 && unsettled <= leased.all) return false
        const leftMs = untilMs - clock.now()
        if (leftMs <= 0) return false
        await notifier.next(Math.min(LOOK_MS, leftMs))
      }
    } finally {
      atEase()
    }
  }
}
