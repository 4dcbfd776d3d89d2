/** Retention: how long dead letters, identities and sends are kept. */
import { changed, settledEntry, unchanged, type Decision, type MessageRecord, type PayloadChange } from './record.ts'

export interface Retention {
  readonly deadLetterMs: number
  /** How long a duplicate is recognised, and a send that was decided is remembered. */
  readonly dedupeMs: number
}

/** Answers `gone` where nothing of the record has to be kept. Events that are not settled never expire. */
export function expire(
  record: MessageRecord | undefined,
  { deadLetterMs, dedupeMs }: Retention,
  nowMs: number,
): Decision<'kept' | 'gone'> {
  if (record === undefined) return unchanged('gone')
  const oldDead = record.dead.filter(({ diedAtMs }) => diedAtMs + deadLetterMs < nowMs)
  const settled = record.settled.filter(({ endedAtMs }) => endedAtMs + dedupeMs >= nowMs)
  const { send } = record
  const isSendOld = send !== undefined && send.overdueAtMs === undefined && send.sentAtMs + dedupeMs < nowMs
  const dead = oldDead.length === 0 ? record.dead : record.dead.filter((entry) => !oldDead.includes(entry))
  const isSendKept = send !== undefined && !isSendOld
  if (record.waiting.length + dead.length + settled.length + oldDead.length === 0 && !isSendKept)
    return unchanged('gone')
  if (oldDead.length === 0 && settled.length === record.settled.length && !isSendOld) return unchanged('kept')
  const payloads = oldDead.map(({ id }): PayloadChange => ({ id, becomes: 'settled' }))
  const ended = oldDead.map(({ id }) => settledEntry(id, nowMs))
  return changed(
    'kept',
    { ...record, dead, settled: [...settled, ...ended], send: isSendOld ? undefined : send },
    payloads,
  )
}
