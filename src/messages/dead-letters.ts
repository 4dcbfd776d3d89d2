/** What may become of a dead letter. */
import { isLate } from '../inbox/order.ts'
import { changed, inserted, settledEntry, unchanged, type Decision, type Entry, type MessageRecord } from './record.ts'

/** `replay`: late if a later report was dispatched meanwhile; `force`: as itself all the same; `discard`: settled. */
type Resolution = 'replay' | 'force' | 'discard'

/** Answers false for an event that is no dead letter. */
export function resolve(
  record: MessageRecord | undefined,
  id: string,
  resolution: Resolution,
  nowMs: number,
): Decision<boolean> {
  const letter = record?.dead.find((one) => one.id === id)
  if (record === undefined || letter === undefined) return unchanged(false)
  const dead = record.dead.filter((one) => one !== letter)
  if (resolution === 'discard')
    return changed(true, { ...record, dead, settled: [...record.settled, settledEntry(letter, nowMs)] }, [
      { id, becomes: 'settled' },
    ])
  const { diedAtMs: _, ...entry } = letter
  const dispatched = { handed: record.dispatchedUpTo, handedOpen: record.openDispatchedUpTo }
  const late = resolution === 'replay' && isLate(entry, dispatched)
  const again: Entry = { ...entry, late, replay: true, attempts: 0, dueMs: nowMs, token: 0 }
  return changed(true, { ...record, dead, waiting: inserted(record.waiting, again) }, [{ id, becomes: 'pending' }])
}
