/** Retention and erasure: how long events and sends are kept, and the removal of what may identify a person. */
import type { ErasedCounts, Expired, Retention } from './commands.ts'
import { settledEntry, withSettled } from './events.ts'
import { erasedExpectation, isUsedReference } from './expected.ts'
import { DAY_MS, type Decision, type MessageRecord, type PayloadChange, type SendEntry } from './record.ts'
import { withoutReports } from './order.ts'

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

/** Unsettled events never expire. `kept`: the events whose payload the store has. */
export function expire(
  record: MessageRecord | undefined,
  { retention, kept }: { readonly retention: Retention; readonly kept: readonly string[] },
  nowMs: number,
): Decision<Expired> {
  if (record === undefined) return { answer: 'kept' }
  const { payloadMs, deadLetterMs, dedupeMs } = retention
  const oldDead = record.dead.filter(({ diedAtMs }) => diedAtMs + deadLetterMs < nowMs)
  const dead = oldDead.length === 0 ? record.dead : record.dead.filter((entry) => !oldDead.includes(entry))
  const settled = record.settled.filter(({ endedAtMs }) => endedAtMs + dedupeMs >= nowMs)
  const { send } = record
  const isSendOld = send !== undefined && send.overdueAtMs === undefined && send.sentAtMs + dedupeMs < nowMs
  const hasEvents = record.waiting.length + dead.length + settled.length + oldDead.length > 0
  if (!hasEvents && (send === undefined || isSendOld)) return { answer: 'gone', record: null }
  const isPayloadKept = (id: string): boolean =>
    [...record.waiting, ...record.dead].some((entry) => entry.id === id) ||
    record.settled.some((entry) => entry.id === id && entry.endedAtMs + payloadMs >= nowMs)
  const removed = kept.filter((id) => !isPayloadKept(id)).map((id): PayloadChange => ({ id, becomes: 'removed' }))
  if (oldDead.length + removed.length === 0 && settled.length === record.settled.length && !isSendOld)
    return { answer: 'kept' }
  const discarded = oldDead.map(({ id }): PayloadChange => ({ id, becomes: 'settled' }))
  const ended = withSettled(
    settled,
    oldDead.map((entry) => settledEntry(entry, entry.diedAtMs)),
  )
  return {
    answer: 'changed',
    record: { ...record, dead, settled: ended.settled, send: isSendOld ? undefined : send },
    payloads: [...discarded, ...removed, ...ended.forgotten],
  }
}

interface EraseRequest {
  readonly key: string
  /** The events to erase, all without it. The key of the message selects its send. */
  readonly ids?: readonly string[] | undefined
  /** Counts without changing anything. */
  readonly dryRun: boolean
  /** Events whose payload the store still has. */
  readonly kept: readonly string[]
}

const NOTHING_ERASED: ErasedCounts = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }

/** Erases events, and keeps idempotency keys, the order of the message, and that a reference was used. */
export function erase(
  record: MessageRecord | undefined,
  { key, ids, dryRun, kept }: EraseRequest,
  nowMs: number,
): Decision<ErasedCounts> {
  if (record === undefined) return { answer: NOTHING_ERASED }
  const isMeant = (id: string): boolean => ids?.includes(id) ?? true
  const isErased = ({ id }: { readonly id: string }): boolean => isMeant(id)
  const waiting = record.waiting.filter((entry) => !isErased(entry))
  const dead = record.dead.filter((entry) => !isErased(entry))
  const latest = withoutReports(record.latest, isMeant)
  const isSendErased = record.send !== undefined && !isUsedReference(record.send.expectation) && isMeant(key)
  const erased = [...record.waiting, ...record.dead].filter(isErased)
  // An event admitted after the store listed `kept` has a payload too.
  const withPayload = new Set([...kept.filter(isMeant), ...erased.map(({ id }) => id)])
  const payloads = [...withPayload].map((id): PayloadChange => ({ id, becomes: 'removed' }))
  const unsettled = record.waiting.length - waiting.length
  const deadLetters = record.dead.length - dead.length
  const hasStateErased = latest !== record.latest || isSendErased
  if (unsettled + deadLetters + payloads.length === 0 && !hasStateErased) return { answer: NOTHING_ERASED }
  const { settled, forgotten } = withSettled(
    record.settled,
    erased.map((entry) => settledEntry(entry, nowMs)),
  )
  const answer = { events: payloads.length, unsettled, deadLetters, states: Number(hasStateErased) }
  if (dryRun) return { answer }
  const { lease } = record
  const isLeaseErased = record.waiting.some((entry) => isErased(entry) && entry.token === lease?.token)
  return {
    answer,
    record: {
      ...record,
      waiting,
      dead,
      latest,
      settled,
      lease: isLeaseErased ? undefined : lease,
      send: isSendErased ? erasedSend(record.send) : record.send,
    },
    payloads: [...payloads, ...forgotten],
  }
}

function erasedSend(send: SendEntry | undefined): SendEntry | undefined {
  const expectation = send && erasedExpectation(send.expectation)
  return send && expectation && { ...send, expectation, overdueAtMs: undefined }
}
