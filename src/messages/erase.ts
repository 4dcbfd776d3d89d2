/** Erasure on request: removes everything that may identify a person; keeps identities and message order. */
import { withoutReports } from './order.ts'
import { settledEntry } from './events.ts'
import type { Decision, MessageRecord, PayloadChange } from './record.ts'

interface EraseRequest {
  /** Selects the events to erase. The key of the message selects its send. */
  readonly isMeant: (id: string) => boolean
  readonly key: string
  /** Events whose payload the store still has. */
  readonly kept: readonly string[]
}

export interface ErasedCounts {
  readonly events: number
  readonly unsettled: number
  readonly deadLetters: number
  readonly states: number
}

const NOTHING_ERASED: ErasedCounts = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }

export function erase(
  record: MessageRecord | undefined,
  { isMeant, key, kept }: EraseRequest,
  nowMs: number,
): Decision<ErasedCounts> {
  if (record === undefined) return { answer: NOTHING_ERASED }
  const isErased = ({ id }: { readonly id: string }): boolean => isMeant(id)
  const waiting = record.waiting.filter((entry) => !isErased(entry))
  const dead = record.dead.filter((entry) => !isErased(entry))
  const latest = withoutReports(record.latest, isMeant)
  const isSendErased = record.send !== undefined && isMeant(key)
  const erased = [...record.waiting, ...record.dead].filter(isErased)
  // An event admitted after the store listed `kept` has a payload too.
  const withPayload = new Set([...kept.filter(isMeant), ...erased.map(({ id }) => id)])
  const payloads = [...withPayload].map((id): PayloadChange => ({ id, becomes: 'removed' }))
  const unsettled = record.waiting.length - waiting.length
  const deadLetters = record.dead.length - dead.length
  const hasStateErased = latest !== record.latest || isSendErased
  if (unsettled + deadLetters + payloads.length === 0 && !hasStateErased) return { answer: NOTHING_ERASED }
  const ended = erased.map((entry) => settledEntry(entry, nowMs))
  const { lease } = record
  const isLeaseErased = record.waiting.some((entry) => isErased(entry) && entry.token === lease?.token)
  return {
    answer: { events: payloads.length, unsettled, deadLetters, states: Number(hasStateErased) },
    record: {
      ...record,
      waiting,
      dead,
      latest,
      settled: [...record.settled, ...ended],
      lease: isLeaseErased ? undefined : lease,
      send: isSendErased ? undefined : record.send,
    },
    payloads,
  }
}
