/**
 * Admission, lease and settlement of an event. Callbacks arrive twice and out of order (contract, service.md#delivery-rules),
 * and one event of a message runs at a time.
 */
import { isLate, mergeLatest, TIME_AND_RANK, type Repetitions } from './order.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { EventRecord } from './event-record.ts'
import {
  EMPTY_RECORD,
  hasEvent,
  MAX_EVENTS,
  MAX_SETTLED,
  type Decision,
  type Entry,
  type Lease,
  type MessageRecord,
  type PayloadChange,
  type SendEntry,
  type SettledEntry,
} from './record.ts'

export interface AdmittedEvent {
  readonly id: string
  readonly order: string
  readonly final: boolean
  readonly step: number
  readonly awaits: number
  readonly gapUntilMs: number
  /** Other ids that are the same event. */
  readonly repeats?: Repetitions | undefined
  readonly record: EventRecord
}

/** `crowded`: too many events of the message wait, so the event is a dead letter. */
type Admitted = 'new' | 'late' | 'duplicate' | 'crowded'

interface AdmissionLimits {
  /** How long the identity of a settled event is kept. */
  readonly dedupeMs: number
}

export function admit(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
  { dedupeMs }: AdmissionLimits,
): Decision<Admitted> {
  const { id, order, step, awaits, gapUntilMs } = event
  if (record !== undefined && hasEvent(record, event)) return { answer: 'duplicate' }
  // Pruning may never reach a busy message, so drop its expired identities here.
  const known = record === undefined ? EMPTY_RECORD : withoutOldIdentities(record, nowMs - dedupeMs)
  const late = isLate(order, known.dispatchedUpTo)
  const latest = order === '' ? known.latest : mergeLatest(known.latest, event)
  const isWaiting = !late && awaits !== 0 && (known.steps & awaits) === 0
  const entry: Entry = {
    id,
    order,
    awaits,
    dueMs: isWaiting ? gapUntilMs : nowMs,
    attempts: 0,
    token: 0,
    late,
    replay: false,
    admittedAtMs: nowMs,
  }
  const others = step === 0 ? known.waiting : withoutWaitFor(known.waiting, step, nowMs)
  const seen = { ...known, steps: known.steps | step, latest }
  if (others.length >= MAX_EVENTS)
    return {
      answer: 'crowded',
      record: { ...seen, waiting: others, dead: [...known.dead, { ...entry, diedAtMs: nowMs }] },
      payloads: [{ id, becomes: 'dead', error: CROWDED }],
    }
  return { answer: late ? 'late' : 'new', record: { ...seen, waiting: inserted(others, entry) } }
}

const CROWDED = new MessagingWebhooksError('message_crowded').message

function withoutOldIdentities(record: MessageRecord, beforeMs: number): MessageRecord {
  const isOld = ({ endedAtMs }: SettledEntry): boolean => endedAtMs < beforeMs
  return record.settled.some(isOld) ? { ...record, settled: record.settled.filter((one) => !isOld(one)) } : record
}

/** Makes events that wait for this step due. An event that was attempted keeps its retry time. */
export function withoutWaitFor(waiting: readonly Entry[], step: number, nowMs: number): readonly Entry[] {
  const isOver = ({ awaits, attempts, dueMs }: Entry): boolean => awaits === step && attempts === 0 && dueMs > nowMs
  return waiting.some(isOver) ? waiting.map((entry) => (isOver(entry) ? { ...entry, dueMs: nowMs } : entry)) : waiting
}

export interface LeaseRequest {
  readonly nowMs: number
  readonly untilMs: number
  readonly worker: string
}

/** Leases the first event of the message if it is due and the message has no active lease. */
export function lease(record: MessageRecord | undefined, request: LeaseRequest): Decision<Entry | undefined> {
  const { nowMs, untilMs, worker } = request
  const first = record?.waiting[0]
  if (record === undefined || first === undefined) return { answer: undefined }
  if (first.dueMs > nowMs || (record.lease !== undefined && record.lease.untilMs > nowMs)) return { answer: undefined }
  const token = record.tokens + 1
  const entry: Entry = { ...first, attempts: first.attempts + 1, token }
  return {
    answer: entry,
    record: {
      ...record,
      tokens: token,
      lease: { token, untilMs, worker, dispatchedBefore: record.dispatchedUpTo.slice(0, TIME_AND_RANK) },
      dispatchedUpTo: first.order > record.dispatchedUpTo ? first.order : record.dispatchedUpTo,
      waiting: record.waiting.length === 1 ? [entry] : record.waiting.with(0, entry),
    },
  }
}

/** A leased event, with its lease and its send. */
export interface Leased {
  readonly entry: Entry
  readonly lease: Lease
  readonly send: SendEntry | undefined
}

/**
 * Admits an event. Also leases it if it is the first event of its message, the message has no lease, and there is a `request`.
 */
export function admitAndLease(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
  limits: AdmissionLimits & { readonly request: LeaseRequest | undefined },
): Decision<{ readonly admitted: Admitted; readonly leased: Leased | undefined }> {
  const { request } = limits
  const decided = admit(record, event, nowMs, limits)
  const { answer: admitted, record: next } = decided
  if (request === undefined || next?.waiting[0]?.id !== event.id || next.lease !== undefined)
    return { ...decided, answer: { admitted, leased: undefined } }
  const { answer: entry, record: after = next } = lease(next, request)
  const leased = entry && after.lease && { entry, lease: after.lease, send: next.send }
  return { answer: { admitted, leased }, record: after }
}

/** The outcome of an attempt. */
type Outcome =
  | { readonly outcome: 'done'; readonly isUnhandled?: true }
  | { readonly outcome: 'retry'; readonly dueMs: number }
  /** No handler started, so the attempt does not count. */
  | { readonly outcome: 'release'; readonly dueMs: number }
  | { readonly outcome: 'dead'; readonly error: string }

/**
 * Settles an attempt. Answers false and changes nothing if the token is not that of the last attempt. An expired lease still
 * settles, unless the event was leased again.
 */
export function settle(
  record: MessageRecord | undefined,
  settlement: { readonly id: string; readonly token: number } & Outcome,
  nowMs: number,
): Decision<boolean> {
  const { id, token } = settlement
  const entry = record?.waiting.find((one) => one.id === id)
  if (record === undefined || entry === undefined || token === 0 || entry.token !== token) return { answer: false }
  // Another event of the message may hold the lease by now. Keep that lease.
  const others = record.lease?.token === token ? undefined : record.lease
  const rest = record.waiting.filter((one) => one !== entry)
  switch (settlement.outcome) {
    case 'retry':
      return {
        answer: true,
        record: {
          ...record,
          lease: others,
          waiting: replaced(record, entry, { ...entry, dueMs: settlement.dueMs }),
        },
      }
    case 'release': {
      const { dueMs } = settlement
      const returned = { ...entry, dueMs, attempts: entry.attempts - 1, token: 0, awaits: 0 }
      return { answer: true, record: { ...record, lease: others, waiting: replaced(record, entry, returned) } }
    }
    case 'dead': {
      const dead = [...record.dead, { ...entry, diedAtMs: nowMs }]
      const { error } = settlement
      return {
        answer: true,
        record: { ...record, lease: others, waiting: rest, dead },
        payloads: [{ id, becomes: 'dead', error }],
      }
    }
    case 'done': {
      const ran = settlement.isUnhandled === true ? { ...entry, attempts: 0 } : entry
      const { settled, forgotten } = withSettled(record.settled, [settledEntry(ran, nowMs)])
      return {
        answer: true,
        record: { ...record, lease: others, waiting: rest, settled },
        payloads: [{ id, becomes: 'settled' }, ...forgotten],
      }
    }
  }
}

/** Ends the lease of a dead worker. Its event is due again, and its token no longer settles anything. */
export function release(record: MessageRecord | undefined, worker: string): Decision<boolean> {
  if (record?.lease?.worker !== worker) return { answer: false }
  const { token } = record.lease
  const waiting = record.waiting.map((entry) => (entry.token === token ? { ...entry, token: 0 } : entry))
  return { answer: true, record: { ...record, lease: undefined, waiting } }
}

/**
 * Takes back a lease before any handler has started, for example after a lost response. The attempt does not count. An event
 * admitted during the lease is late only if it is older than the newest report dispatched before the lease.
 */
export function takeBack(record: MessageRecord | undefined, isLost: (entry: Entry) => boolean): Decision<boolean> {
  const { lease } = record ?? {}
  const lost = record?.waiting.find((entry) => entry.token === lease?.token && isLost(entry))
  if (record === undefined || lease === undefined || lost === undefined) return { answer: false }
  const { dispatchedBefore: dispatchedUpTo } = lease
  const waiting = record.waiting.map((entry) => {
    if (entry === lost) return { ...lost, token: 0, attempts: lost.attempts - 1 }
    const isJudgedAnew = entry.late && entry.attempts === 0 && !entry.replay
    return isJudgedAnew ? { ...entry, late: isLate(entry.order, dispatchedUpTo) } : entry
  })
  return { answer: true, record: { ...record, lease: undefined, dispatchedUpTo, waiting } }
}

function replaced({ waiting }: MessageRecord, entry: Entry, by: Entry): readonly Entry[] {
  return waiting.length === 1 ? [by] : waiting.map((one) => (one === entry ? by : one))
}

/** Inserts an entry in order. */
export function inserted(waiting: readonly Entry[], entry: Entry): readonly Entry[] {
  if (waiting.length === 0) return [entry]
  const at = waiting.findIndex(({ order }) => order > entry.order)
  return waiting.toSpliced(at === -1 ? waiting.length : at, 0, entry)
}

export function settledEntry({ id, attempts, late }: Entry, nowMs: number): SettledEntry {
  return { id, endedAtMs: Math.floor(nowMs), attempts, late }
}

/** Adds settled events, and forgets the oldest beyond `MAX_SETTLED`, with their payloads. */
export function withSettled(
  settled: readonly SettledEntry[],
  ended: readonly SettledEntry[],
): { readonly settled: readonly SettledEntry[]; readonly forgotten: readonly PayloadChange[] } {
  const all = [...settled, ...ended]
  if (all.length <= MAX_SETTLED) return { settled: all, forgotten: NONE_FORGOTTEN }
  const forgotten = all.slice(0, -MAX_SETTLED).map(({ id }): PayloadChange => ({ id, becomes: 'removed' }))
  return { settled: all.slice(-MAX_SETTLED), forgotten }
}

const NONE_FORGOTTEN: readonly PayloadChange[] = []
