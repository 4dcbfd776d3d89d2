/** Events that run again: after a failed attempt, as replayed dead letters, and in place of an unreadable record. */
import { retryDelayMs, type RetryPolicy } from '../runtime/clock.ts'
import type { Resolution } from './commands.ts'
import { isLate } from './order.ts'
import { inserted, settledEntry, withSettled } from './events.ts'
import { EMPTY_RECORD, type Decision, type Entry, type MessageRecord } from './record.ts'

/**
 * The delay before the next attempt, given the number of the failed one (from 1) and a random number from 0 to 1. Undefined after the
 * last attempt: the event becomes a dead letter.
 */
export function delayAfterFailure(attempt: number, policy: RetryPolicy, random: number): number | undefined {
  return attempt >= policy.attempts ? undefined : retryDelayMs(attempt, policy, () => random)
}

/** Answers false if the event is not a dead letter. */
export function resolve(
  record: MessageRecord | undefined,
  { id, as: resolution }: { readonly id: string; readonly as: Resolution },
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

/** Greater than any token issued before. */
const UNREADABLE_TOKENS = 2 ** 40
const unreadable = new WeakSet<MessageRecord>()

/**
 * Stands in for a record that cannot be read: one event is due, whose id is the key. It has no payload, so the next claim reports
 * it and makes it a dead letter. New events of the message are stored and dispatched as usual.
 */
export function unreadableRecord(key: string): MessageRecord {
  const times = { dueMs: 0, admittedAtMs: 0 }
  const entry = { id: key, order: '', awaits: 0, attempts: 0, token: 0, late: false, replay: false, ...times }
  const record = { ...EMPTY_RECORD, tokens: UNREADABLE_TOKENS, waiting: [entry] }
  unreadable.add(record)
  return record
}

/** Whether a write replaces all of a stored record, and what the indexes say of it, because it could not be read. */
export function isUnreadable(record: MessageRecord | undefined): boolean {
  return record !== undefined && unreadable.has(record)
}
