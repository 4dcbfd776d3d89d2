/** Waiting until nothing is unsettled: neither in our hands, nor in the store, nor on its way there. */
import { withDeadline, type Clock } from '../clock.ts'
import type { Awaitable, StoreCounts } from '../inbox/store.ts'
import type { Changes } from './changes.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { Leased } from './leased.ts'

/** What another process settles is not announced: look again after this. */
const LOOK_MS = 50

interface DrainOptions {
  readonly clock: Clock
  readonly leased: Leased
  readonly loop: ClaimLoop
  readonly changes: Changes
  /** Of the store, and of what is on its way there. */
  readonly counts: () => Awaitable<StoreCounts>
}

/** True when nothing is unsettled any more (of what has not hung, unless `waitForHung`); false when the deadline passed before. */
export type Drain = (deadlineMs: number, options?: { readonly waitForHung?: boolean }) => Promise<boolean>

export function createDrain({ clock, leased, loop, changes, counts }: DrainOptions): Drain {
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
        await changes.next(Math.min(LOOK_MS, leftMs))
      }
    } finally {
      atEase()
    }
  }
}
