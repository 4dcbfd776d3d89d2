/** What lists show of the records and payloads in a store: plain data, derived from a record and what is stored beside it. */
import type { EventRecord } from './event-record.ts'
import { encodeExpectation, isUsedReference, type KnownExpectation } from './expected.ts'
import { identityIn, reportsIn } from './order.ts'
import type { MessageRecord, SendEntry } from './record.ts'

/** The record and masked body of an event, as stored beside the record of its message. */
export interface Payload {
  readonly id: string
  readonly record: EventRecord
  readonly raw: Buffer
  /** The last error of the handlers. Dead letters only. */
  readonly error: string | undefined
  /** `record` and `raw` hold what is left of it. */
  readonly isUnreadable?: true
}

/** The merge of all reports of a message. It does not depend on the order of arrival or on repetitions. */
export interface StoredLatest {
  /** The report with the greatest `order`. */
  readonly record: EventRecord
  /** All reports that may be final (`isFinal` of order.ts), by `order`. The parts of a long SMS share one id, and a success must not hide a failure. */
  readonly finals: readonly EventRecord[]
  /** The expectation of the message, if the app recorded one. */
  readonly expected?: KnownExpectation
}

/** A dead letter. */
export interface StoredDeadLetter {
  readonly id: string
  readonly messageKey: string
  readonly attempts: number
  /** The last error of the handlers, cut to 8 KiB. */
  readonly error: string
  readonly diedAtMs: number
  readonly record: EventRecord
  readonly raw: Buffer
  /** The expectation of its message, if the app recorded one. */
  readonly expected?: KnownExpectation
}

/** All states of an event. */
export const EVENT_STATES = ['due', 'leased', 'settled', 'dead'] as const

/**
 * The state of an event. `due`: waits for its time or its turn. `leased`: a worker has it, or had it until its lease expired.
 * `settled`: its handlers succeeded, or it had none. `dead`: a dead letter.
 */
export type EventState = (typeof EVENT_STATES)[number]

/**
 * An event in a list. Fields that the store no longer has, or cannot read, are undefined. Only the identity remains of an event
 * settled long ago.
 */
export interface StoredEvent {
  readonly id: string
  readonly state: EventState
  /** The sort key of the list: the time of admission, or the latest known time. */
  readonly atMs: number | undefined
  readonly late: boolean | undefined
  /** Number of attempts. 0 for an event that was settled without a handler. */
  readonly attempts: number | undefined
  readonly admittedAtMs: number | undefined
  /** If due: the earliest time of a claim, as far as the event itself decides. If leased: the end of the lease. */
  readonly dueMs: number | undefined
  /** When it was settled or became a dead letter. Some stores keep only seconds. */
  readonly endedAtMs: number | undefined
  /** The last error of the handlers of a dead letter. */
  readonly error: string | undefined
  readonly order: string | undefined
  readonly record: EventRecord | undefined
  readonly raw: Buffer | undefined
}

/**
 * Stored data that may identify a person: the record and bytes of an event, or a report of the latest state. An expectation is
 * included as bytes, with the key of its message as id.
 */
export interface KeptEvent extends Pick<StoredEvent, 'id' | 'atMs' | 'record' | 'raw'> {
  readonly messageKey: string
}

/** An expectation in a list. */
export interface StoredExpectation extends KnownExpectation {
  readonly messageKey: string
  /** The latest state of the message. Undefined if no report has arrived. */
  readonly latest: StoredLatest | undefined
}

/** An event as an index of a store finds it. `record` is that of its message. */
export interface FoundEvent {
  readonly key: string
  readonly id: string
  /** The time of admission, or the latest known time. */
  readonly atMs: number
  readonly record: MessageRecord
  /** Undefined for an event settled long ago. */
  readonly payload: Payload | undefined
}

function expectedOf({ expectation, wasOverdue }: SendEntry): KnownExpectation {
  return { expectation, wasOverdue }
}

export function latestOf({ latest, send }: MessageRecord): StoredLatest | undefined {
  if (latest === undefined) return undefined
  const finals = latest.finals.map(({ record }) => record)
  return { record: latest.record, finals, ...(send && { expected: expectedOf(send) }) }
}

/** Undefined if the app recorded no send. */
export function sendIn(messageKey: string, record: MessageRecord): StoredExpectation | undefined {
  const { send, latest } = record
  if (send === undefined) return undefined
  const finals = latest?.finals.map((final) => final.record) ?? []
  return { messageKey, ...expectedOf(send), latest: latest && { record: latest.record, finals } }
}

const UNREADABLE = 'Neither the event nor the record of its message can be read.'

export function deadLetterOf({ key: messageKey, id, record, payload }: FoundEvent): StoredDeadLetter | undefined {
  const letter = record.dead.find((entry) => entry.id === id)
  if (letter === undefined || payload === undefined) return undefined
  const { attempts, diedAtMs } = letter
  // Without a payload, the store has no place for the error.
  const { error = UNREADABLE, raw } = payload
  const read = { id, messageKey, attempts, error, diedAtMs, record: payload.record, raw }
  return record.send === undefined ? read : { ...read, expected: expectedOf(record.send) }
}

/** Undefined if the record no longer contains the event. */
export function eventOf({ id, atMs, record, payload }: FoundEvent): StoredEvent | undefined {
  const { lease } = record
  const waiting = record.waiting.find((entry) => entry.id === id)
  // Only the bytes of an unreadable payload are left.
  const readable = payload?.isUnreadable === true ? undefined : payload?.record
  const known = { id, atMs, record: readable, raw: payload?.raw, error: undefined }
  if (waiting !== undefined) {
    const { late, attempts, admittedAtMs, order } = waiting
    const rest = { ...known, late, attempts, admittedAtMs, order, endedAtMs: undefined }
    return lease?.token === waiting.token
      ? { ...rest, state: 'leased', dueMs: lease.untilMs }
      : { ...rest, state: 'due', dueMs: waiting.dueMs }
  }
  const dead = record.dead.find((entry) => entry.id === id)
  if (dead !== undefined) {
    const { late, attempts, admittedAtMs, order, diedAtMs } = dead
    const rest = { ...known, late, attempts, admittedAtMs, order, error: payload?.error }
    return { ...rest, state: 'dead', dueMs: undefined, endedAtMs: diedAtMs }
  }
  const settled = record.settled.find((entry) => entry.id === id)
  if (settled === undefined) return undefined
  const report = reportsIn(record.latest).find(({ order }) => identityIn(order) === id)
  return {
    ...known,
    record: payload === undefined ? report?.record : readable,
    state: 'settled',
    late: settled.late,
    attempts: settled.attempts,
    admittedAtMs: undefined,
    dueMs: undefined,
    endedAtMs: settled.endedAtMs,
    order: report?.order,
  }
}

/** Everything in a record and its payloads that may identify a person. */
export function keptIn(
  key: string,
  { latest, send }: MessageRecord,
  payloads: readonly Payload[],
): readonly KeptEvent[] {
  const events = payloads.map(({ id, record, raw }): KeptEvent => {
    return { messageKey: key, id, atMs: record.receivedAtMs, record, raw }
  })
  const reports = reportsIn(latest).map(({ order, record }): KeptEvent => {
    return { messageKey: key, id: identityIn(order), atMs: record.receivedAtMs, record, raw: undefined }
  })
  if (send === undefined || isUsedReference(send.expectation)) return [...events, ...reports]
  const raw = encodeExpectation(send.expectation)
  return [...events, ...reports, { messageKey: key, id: key, atMs: send.sentAtMs, record: undefined, raw }]
}
