/**
 * Admission, lease and settlement of an event. Callbacks arrive twice and out of order (contract, service.md#delivery-rules),
 * and one event of a message runs at a time.
 */
import { isLate, mergeLatest, TIME_AND_RANK, type Repetitions } from './order.ts'
import type { EventRecord } from './event-record.ts'
import {
  EMPTY_RECORD,
  hasEvent,
  MOST_EVENTS,
  type Decision,
  type Entry,
  type Lease,
  type MessageRecord,
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

/**
 * `overflow`: the record is full, and the event needs a record of its own. `late overflow`: the same, and a later event was
 * dispatched.
 */
export type Admitted = 'new' | 'late' | 'duplicate' | 'overflow' | 'late overflow'

interface AdmissionLimits {
  /** How long the identity of a settled event is kept. */
  readonly dedupeMs: number
  /** Maximum number of events in the record. Default `MOST_EVENTS`. */
  readonly mostEvents?: number
}

export function admit(
  record: MessageRecord | undefined,
  event: AdmittedEvent,
  nowMs: number,
  { dedupeMs, mostEvents = MOST_EVENTS }: AdmissionLimits,
): Decision<Admitted> {
  const { id, order, step, awaits, gapUntilMs } = event
  if (record !== undefined && hasEvent(record, event)) return { answer: 'duplicate' }
  // Pruning may never reach a busy message, so drop its expired identities here. A full record stays full while its overflow records keep identities, because a lookup reads those only while this record is full.
  const isFull = record !== undefined && (eventsIn(record) >= mostEvents || overflows(record, nowMs - dedupeMs))
  const known =
    record === undefined || isFull ? (record ?? EMPTY_RECORD) : withoutOldIdentities(record, nowMs - dedupeMs)
  const late = isLate(order, known.dispatchedUpTo)
  const latest = order === '' ? known.latest : mergeLatest(known.latest, event)
  if (isFull)
    return { answer: late ? 'late overflow' : 'overflow', record: { ...known, latest, overflowedAtMs: nowMs } }
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
  const waiting = inserted(step === 0 ? known.waiting : withoutWaitFor(known.waiting, step, nowMs), entry)
  return { answer: late ? 'late' : 'new', record: { ...known, steps: known.steps | step, latest, waiting } }
}

/** Admits an event into an overflow record of its own. `of` is the key of its message. The event has no order there. */
export function admitOverflow(
  record: MessageRecord | undefined,
  { of, late }: { readonly of: string; readonly late: boolean },
  event: AdmittedEvent,
  nowMs: number,
  limits: AdmissionLimits,
): Decision<Admitted> {
  const decided = admit(record, { ...event, order: '', step: 0, awaits: 0 }, nowMs, limits)
  if (decided.record === undefined) return decided
  const waiting = decided.record.waiting.map((entry) => (entry.id === event.id ? { ...entry, late } : entry))
  return { answer: late ? 'late' : 'new', record: { ...decided.record, of, waiting } }
}

/** Whether an event went to an overflow record since `sinceMs`. That record keeps the identity. */
export function overflows({ overflowedAtMs }: MessageRecord, sinceMs: number): boolean {
  return overflowedAtMs !== undefined && overflowedAtMs >= sinceMs
}

function eventsIn({ waiting, dead, settled }: MessageRecord): number {
  return waiting.length + dead.length + settled.length
}

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
      const settled = [...record.settled, settledEntry(ran, nowMs)]
      return {
        answer: true,
        record: { ...record, lease: others, waiting: rest, settled },
        payloads: [{ id, becomes: 'settled' }],
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
