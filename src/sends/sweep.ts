/**
 * Makes `send.overdue` of what is expected and has no end, and `send.unknown` of a send without an answer: one process of those
 * that share a store does, whichever comes first, for the store decides once about each message.
 */
import type { Clock } from '../runtime/clock.ts'
import { isBegun, listedAt } from '../messages/expected.ts'
import type { NewEvent, OpenStore, Overdue } from '../inbox/store.ts'
import { answeredAmong, endBegun } from './begun.ts'
import { overdueEvent, unknownSendEvent } from './made-events.ts'

/** What other processes expect, nobody tells: so often it is looked for, by an index. */
const LOOK_EVERY_MS = 60_000
/** After the store is open, or has failed. */
const LOOK_FIRST_MS = 5_000
const A_STEP = 200

interface Sweep {
  /** From now on, in this store. Does nothing after `stop`. */
  begin(store: OpenStore<object>): void
  /** Something will be overdue then. */
  at(overdueAtMs: number): void
  stop(): void
}

interface SweepOptions {
  readonly clock: Clock
  /** Other processes, or an earlier one, may expect something in the store. */
  readonly looksForOthers: boolean
  /** Something is due. */
  readonly onWork: () => void
}

export function createSweep({ clock, looksForOthers, onWork }: SweepOptions): Sweep {
  let target: OpenStore<object> | undefined
  let isStopped = false
  let isUnderWay = false
  /** Then the time of something came while a look was under way, which may not have seen it. */
  let passedMs = Infinity
  let nextMs = Infinity
  /** What was told before the store was open. */
  let toldMs = Infinity
  let cancel = (): void => {}

  function lookAt(ms: number): void {
    if (isStopped || target === undefined || ms >= nextMs || ms === Infinity) return
    cancel()
    nextMs = ms
    cancel = clock.setTimer(() => void look(), ms - clock.now())
  }

  async function look(): Promise<void> {
    nextMs = Infinity
    if (isUnderWay) passedMs = clock.now()
    if (isUnderWay || target === undefined) return
    isUnderWay = true
    passedMs = Infinity
    let againMs = looksForOthers ? clock.now() + LOOK_EVERY_MS : Infinity
    try {
      for (;;) {
        const found = await target.overdue?.({ nowMs: clock.now(), limit: A_STEP })
        if (found === undefined || isStopped) return
        const nowMs = clock.now()
        const { events, ended, left } = await decide(target, found.items, nowMs)
        if (left > 0) againMs = Math.min(againMs, nowMs + LOOK_FIRST_MS)
        const admitted = events.length === 0 ? [] : await admit(target, events, nowMs)
        if (admitted.includes(true)) onWork()
        if (found.nextMs !== undefined) againMs = Math.min(againMs, Math.max(found.nextMs, nowMs))
        // Of one that the store cannot take now it will say so again; where it has taken others, it does not say so at once.
        const isLast = found.items.length < A_STEP && !admitted.includes(false)
        if (isLast || (ended === 0 && !admitted.includes(true))) break
      }
    } catch {
      // The store is away: what is overdue is no less so later. Who claims from it tells of the outage.
      againMs = clock.now() + LOOK_FIRST_MS
      passedMs = Infinity
    } finally {
      isUnderWay = false
      againMs = Math.min(againMs, passedMs)
      if (againMs < Infinity) lookAt(Math.max(againMs, clock.now() + 1))
    }
  }

  async function admit(
    store: OpenStore<object>,
    events: readonly NewEvent[],
    nowMs: number,
  ): Promise<readonly boolean[]> {
    try {
      return (await store.admitOverdue?.(events, nowMs)) ?? []
    } catch (error) {
      // A part of the store may have admitted its share.
      onWork()
      throw error
    }
  }

  return {
    begin(store) {
      if (store.overdue === undefined) return
      target = store
      lookAt(looksForOthers ? Math.min(toldMs, clock.now() + LOOK_FIRST_MS) : toldMs)
    },
    at(overdueAtMs) {
      toldMs = Math.min(toldMs, overdueAtMs)
      lookAt(overdueAtMs)
    },
    stop() {
      isStopped = true
      cancel()
    },
  }
}

/**
 * Of a send whose answer was written down, only its end was not: that is done here. What only a part of the store that is away can
 * tell is left for later, and holds up nothing else.
 */
async function decide(
  store: OpenStore<object>,
  items: Overdue['items'],
  nowMs: number,
): Promise<{ readonly events: readonly NewEvent[]; readonly ended: number; readonly left: number }> {
  const events = items.filter(({ expectation }) => !isBegun(expectation)).map((item) => overdueEvent(item, nowMs))
  let [ended, left] = [0, 0]
  const sends = items.filter(({ expectation }) => isBegun(expectation))
  for (const together of Map.groupBy(sends, ({ expectation }) => listedAt(expectation)).values()) {
    try {
      const answered = await answeredAmong(store, together)
      if (answered.length > 0) await endBegun(store, answered, nowMs)
      ended += answered.length
      events.push(...together.filter((send) => !answered.includes(send)).map((send) => unknownSendEvent(send, nowMs)))
    } catch {
      left += together.length
    }
  }
  return { events, ended, left }
}
