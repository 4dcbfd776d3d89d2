/** Events that run again: after a failed attempt, as replayed dead letters, and from an unreadable record. */
import { retryDelayMs, type RetryPolicy } from '../runtime/clock.ts'
import { isLate, mergeLatest, NO_PLACE, placeOf, type MessageLatest } from './order.ts'
import { inserted, settledEntry, withSettled } from './events.ts'
import { EMPTY_RECORD, type Decision, type Entry, type MessageRecord } from './record.ts'
import type { EventRecord } from './event-record.ts'

/**
 * The delay before the next attempt, given the number of the failed one (from 1) and a random number from 0 to 1. Undefined after the
 * last attempt: the event becomes a dead letter.
 */
export function delayAfterFailure(attempt: number, policy: RetryPolicy, random: number): number | undefined {
  return attempt >= policy.attempts ? undefined : retryDelayMs(attempt, policy, () => random)
}

/**
 * `replay` dispatches the event again, as `late` if a later report was dispatched meanwhile. `force` ignores lateness.
 * `discard` settles the event.
 */
type Resolution = 'replay' | 'force' | 'discard'

/** Answers false if the event is not a dead letter. */
export function resolve(
  record: MessageRecord | undefined,
  id: string,
  resolution: Resolution,
  nowMs: number,
): Decision<boolean> {
  const letter = record?.dead.find((one) => one.id === id)
  if (record === undefined || letter === undefined) return { answer: false }
  const dead = record.dead.filter((one) => one !== letter)
  if (resolution === 'discard') {
    const { settled, forgotten } = withSettled(record.settled, [settledEntry(letter, nowMs)])
    return {
      answer: true,
      record: { ...record, dead, settled },
      payloads: [{ id, becomes: 'settled' }, ...forgotten],
    }
  }
  const { diedAtMs: _, ...entry } = letter
  // A late event stays late.
  const late = resolution === 'replay' && (letter.late || isLate(entry.order, record.dispatchedUpTo))
  const again: Entry = { ...entry, late, replay: true, attempts: 0, dueMs: nowMs, token: 0 }
  return {
    answer: true,
    record: { ...record, dead, waiting: inserted(record.waiting, again) },
    payloads: [{ id, becomes: 'pending' }],
  }
}

interface LeftEvent {
  readonly id: string
  readonly admittedAtMs: number
  /** Undefined if the payload is unreadable too. */
  readonly record: EventRecord | undefined
}

/** Greater than any token issued before. */
const RESTORED_TOKENS = 2 ** 40

/**
 * Rebuilds an unreadable record from the remaining payloads, with every event pending: events may repeat, and none is lost.
 */
export function restore(events: readonly LeftEvent[]): MessageRecord {
  let waiting: readonly Entry[] = []
  let latest: MessageLatest | undefined
  for (const { id, admittedAtMs, record } of events) {
    const { order, final } = record?.report === undefined ? NO_PLACE : placeOf(id, record.report, record)
    if (record !== undefined && order !== '') latest = mergeLatest(latest, { order, final, record })
    const attempt = { awaits: 0, dueMs: admittedAtMs, attempts: 0, token: 0, late: false, replay: false }
    waiting = inserted(waiting, { id, order, ...attempt, admittedAtMs })
  }
  return { ...EMPTY_RECORD, tokens: RESTORED_TOKENS, waiting, latest }
}
