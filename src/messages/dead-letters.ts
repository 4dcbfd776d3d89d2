/** Replay and discard of dead letters. */
import { isLate } from './order.ts'
import { inserted, settledEntry } from './events.ts'
import type { Decision, Entry, MessageRecord } from './record.ts'

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
  if (resolution === 'discard')
    return {
      answer: true,
      record: { ...record, dead, settled: [...record.settled, settledEntry(letter, nowMs)] },
      payloads: [{ id, becomes: 'settled' }],
    }
  const { diedAtMs: _, ...entry } = letter
  // An event in an overflow record has no order there. A late event stays late.
  const late = resolution === 'replay' && (letter.late || isLate(entry.order, record.dispatchedUpTo))
  const again: Entry = { ...entry, late, replay: true, attempts: 0, dueMs: nowMs, token: 0 }
  return {
    answer: true,
    record: { ...record, dead, waiting: inserted(record.waiting, again) },
    payloads: [{ id, becomes: 'pending' }],
  }
}
