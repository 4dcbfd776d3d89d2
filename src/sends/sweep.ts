/**
 * Creates `send.overdue` for messages without a final report, and `send.unknown` for sends without an answer. Every process
 * that dispatches from the store sweeps it; the store decides once per message.
 */
import type { Clock } from '../runtime/clock.ts'
import { isPendingSend, listedAt } from '../messages/expected.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { MessageStore } from '../inbox/store.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { answeredAmong, endPendingSends, overdueEvent, unknownSendEvent, type RecordedSend } from './pending.ts'

/** How often to look for sends of other processes, which do not announce them. */
const LOOK_EVERY_MS = 60_000
/** Delay after the store was opened or has failed. */
const LOOK_FIRST_MS = 5_000
const A_STEP = 200

interface SweepOptions {
  readonly clock: Clock
  /** The store may contain sends of other or earlier processes. */
  readonly looksForOthers: boolean
  /** Called when an event is due. */
  readonly onWork: () => void
}

export function createSweep({ clock, looksForOthers, onWork }: SweepOptions) {
  let target: MessageStore<object> | undefined
  let isStopped = false
  let isUnderWay = false
  /** When a deadline passed during a sweep, which may have missed it. */
  let passedMs = Infinity
  let nextMs = Infinity
  /** The earliest deadline announced before the store was open. */
  let announcedDueMs = Infinity
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
        const askedMs = clock.now()
        const { keys, nextInMs } = await target.due({ of: 'sends', limit: A_STEP })
        const sends = await recordedSends(target, keys)
        if (isStopped) return
        const nowMs = clock.now()
        const { events, ended, left } = await decide(target, sends, nowMs)
        if (left > 0) againMs = Math.min(againMs, nowMs + LOOK_FIRST_MS)
        const admitted = events.length === 0 ? [] : await admit(target, events)
        if (admitted.includes(true)) onWork()
        if (nextInMs !== undefined) againMs = Math.min(againMs, askedMs + nextInMs)
        // A store that accepted only some events does not report the rest as overdue at once.
        const isLast = keys.length < A_STEP && !admitted.includes(false)
        if (isLast || (ended === 0 && !admitted.includes(true))) break
      }
    } catch {
      // The store is unavailable. Overdue messages remain overdue, and the claim loop reports the outage.
      againMs = clock.now() + LOOK_FIRST_MS
      passedMs = Infinity
    } finally {
      isUnderWay = false
      againMs = Math.min(againMs, passedMs)
      if (againMs < Infinity) lookAt(Math.max(againMs, clock.now() + 1))
    }
  }

  async function admit(store: MessageStore<object>, events: readonly NewEvent[]): Promise<readonly boolean[]> {
    try {
      return await admitOverdue(store, events)
    } catch (error) {
      // One part of the store may have admitted its share.
      onWork()
      throw error
    }
  }

  return {
    /** Starts sweeping this store. Does nothing after `stop`. */
    begin(store: MessageStore<object>): void {
      target = store
      lookAt(looksForOthers ? Math.min(announcedDueMs, clock.now() + LOOK_FIRST_MS) : announcedDueMs)
    },
    /** Announces that a send becomes overdue at this time. */
    at(overdueAtMs: number): void {
      announcedDueMs = Math.min(announcedDueMs, overdueAtMs)
      lookAt(overdueAtMs)
    },
    stop(): void {
      isStopped = true
      cancel()
    },
  }
}

/**
 * Ends pending sends with completely recorded answers. Sends in an unavailable part of the store are left for later and do not
 * block the rest.
 */
async function decide(
  store: MessageStore<object>,
  items: readonly RecordedSend[],
  nowMs: number,
): Promise<{ readonly events: readonly NewEvent[]; readonly ended: number; readonly left: number }> {
  const events = items.filter(({ expectation }) => !isPendingSend(expectation)).map((item) => overdueEvent(item, nowMs))
  let [ended, left] = [0, 0]
  const sends = items.filter(({ expectation }) => isPendingSend(expectation))
  for (const together of Map.groupBy(sends, ({ expectation }) => listedAt(expectation)).values()) {
    try {
      const answered = await answeredAmong(store, together)
      if (answered.length > 0) await endPendingSends(store, answered)
      ended += answered.length
      events.push(...together.filter((send) => !answered.includes(send)).map((send) => unknownSendEvent(send, nowMs)))
    } catch {
      left += together.length
    }
  }
  return { events, ended, left }
}

async function recordedSends(store: MessageStore<object>, keys: readonly string[]): Promise<readonly RecordedSend[]> {
  const records = await store.run(keys.map((key) => ({ do: 'read', key }) as const))
  // The index lists a message without a send if its record cannot be read. Any command puts that right.
  const others = keys.filter((_, index) => records[index]?.send === undefined)
  if (others.length > 0) await store.run(others.map((key) => ({ do: 'endSend', key }) as const))
  return records.flatMap((record, index) => {
    const messageKey = keys[index]
    const expectation = record?.send?.expectation
    return messageKey === undefined || expectation === undefined ? [] : [{ messageKey, expectation }]
  })
}

/** Returns for each event whether it was admitted. Throws `store_full` if the store is full and admits none. */
export async function admitOverdue(
  store: MessageStore<object>,
  events: readonly NewEvent[],
): Promise<readonly boolean[]> {
  const answers = await store.run(events.map((event) => ({ do: 'overdue' as const, key: event.messageKey, event })))
  // The others are asked for again.
  if (answers.includes('full') && !answers.includes(true)) throw new MessagingWebhooksError('store_full')
  return answers.map((answer) => answer === true)
}
