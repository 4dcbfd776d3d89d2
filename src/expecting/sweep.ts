/**
 * Makes `message.overdue` of what is expected and has no end, and `send.unknown` of a send without an answer: one process of those
 * that share a store does, whichever comes first, for the store decides once about each message.
 */
import type { Clock } from '../clock.ts'
import { isBegun } from '../inbox/expected.ts'
import type { NewEvent, OpenStore, Overdue } from '../inbox/store.ts'
import { endBegun, isAnswered } from './begun.ts'
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
    // Whoever looks comes by again.
    if (isUnderWay || target === undefined) return
    isUnderWay = true
    let againMs = looksForOthers ? clock.now() + LOOK_EVERY_MS : Infinity
    try {
      for (;;) {
        const found = await target.overdue?.({ nowMs: clock.now(), limit: A_STEP })
        if (found === undefined || isStopped) return
        const nowMs = clock.now()
        const { events, ended } = await decide(target, found.items, nowMs)
        const admitted = events.length === 0 ? [] : ((await target.admitOverdue?.(events, nowMs)) ?? [])
        if (admitted.includes(true)) onWork()
        if (found.nextMs !== undefined) againMs = Math.min(againMs, Math.max(found.nextMs, nowMs))
        // Of one that the store cannot take now it will say so again; where it has taken others, it does not say so at once.
        const isLast = found.items.length < A_STEP && !admitted.includes(false)
        if (isLast || (ended === 0 && !admitted.includes(true))) break
      }
    } catch {
      // The store is away: what is overdue is no less so later. Who claims from it tells of the outage.
      againMs = clock.now() + LOOK_FIRST_MS
    } finally {
      isUnderWay = false
      if (againMs < Infinity) lookAt(Math.max(againMs, clock.now() + 1))
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

/** Of a send whose answer was written down, only its end was not: that is done here. */
async function decide(
  store: OpenStore<object>,
  items: Overdue['items'],
  nowMs: number,
): Promise<{ readonly events: readonly NewEvent[]; readonly ended: number }> {
  const events: NewEvent[] = []
  const answered: Overdue['items'][number][] = []
  for (const item of items) {
    if (!isBegun(item.expectation)) events.push(overdueEvent(item, nowMs))
    else if (await isAnswered(store, item.expectation)) answered.push(item)
    else events.push(unknownSendEvent(item, nowMs))
  }
  if (answered.length > 0) await endBegun(store, answered, nowMs)
  return { events, ended: answered.length }
}
