/** Retention: how long dead letters, identities and sends are kept. */
import { overflows, settledEntry } from './events.ts'
import type { Decision, MessageRecord, PayloadChange } from './record.ts'

export interface Retention {
  /** How long payloads of settled events are kept. */
  readonly payloadMs: number
  readonly deadLetterMs: number
  /** How long duplicates are recognised and completed sends are remembered. */
  readonly dedupeMs: number
}

const DAY_MS = 86_400_000

/** Duplicates are recognised for at least as long as payloads are kept. */
export function retentionOf(days: {
  readonly retentionDays: number
  readonly deadLetterDays: number
  readonly dedupeDays: number
}): Retention {
  const { retentionDays, deadLetterDays, dedupeDays } = days
  return {
    payloadMs: retentionDays * DAY_MS,
    deadLetterMs: deadLetterDays * DAY_MS,
    dedupeMs: Math.max(dedupeDays, retentionDays) * DAY_MS,
  }
}

/** Whether the record is still needed, and whether anything in it expired. */
export type Expired = 'kept' | 'changed' | 'gone'

/** Unsettled events never expire. `kept`: the events whose payload the store has. */
export function expire(
  record: MessageRecord | undefined,
  { retention, kept }: { readonly retention: Retention; readonly kept: readonly string[] },
  nowMs: number,
): Decision<Expired> {
  if (record === undefined) return { answer: 'gone' }
  const { payloadMs, deadLetterMs, dedupeMs } = retention
  const oldDead = record.dead.filter(({ diedAtMs }) => diedAtMs + deadLetterMs < nowMs)
  const dead = oldDead.length === 0 ? record.dead : record.dead.filter((entry) => !oldDead.includes(entry))
  const settled = record.settled.filter(({ endedAtMs }) => endedAtMs + dedupeMs >= nowMs)
  const { send } = record
  const isSendOld = send !== undefined && send.overdueAtMs === undefined && send.sentAtMs + dedupeMs < nowMs
  const isSendKept = send !== undefined && !isSendOld
  const isNeeded = isSendKept || overflows(record, nowMs - dedupeMs)
  if (record.waiting.length + dead.length + settled.length + oldDead.length === 0 && !isNeeded)
    return { answer: 'gone' }
  const isPayloadKept = (id: string): boolean =>
    [...record.waiting, ...record.dead].some((entry) => entry.id === id) ||
    record.settled.some((entry) => entry.id === id && entry.endedAtMs + payloadMs >= nowMs)
  const removed = kept.filter((id) => !isPayloadKept(id)).map((id): PayloadChange => ({ id, becomes: 'removed' }))
  if (oldDead.length + removed.length === 0 && settled.length === record.settled.length && !isSendOld)
    return { answer: 'kept' }
  const discarded = oldDead.map(({ id }): PayloadChange => ({ id, becomes: 'settled' }))
  const ended = oldDead.map((entry) => settledEntry(entry, entry.diedAtMs))
  return {
    answer: 'changed',
    record: { ...record, dead, settled: [...settled, ...ended], send: isSendOld ? undefined : send },
    payloads: [...discarded, ...removed],
  }
}

/** Nothing in the record will run again, so an engine with its own expiry may drop it once its identities have expired. */
export function isAtRest({ waiting, dead }: MessageRecord): boolean {
  return waiting.length === 0 && dead.length === 0
}
