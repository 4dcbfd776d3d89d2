/** The stored form of an event: its fields, which survive a round trip through JSON, and its body. */
import {
  CALLBACK_KINDS,
  CARRIERS,
  FAILURE_CAUSES,
  PROBLEMS,
  REPORT_TYPES,
  type EventType,
  type DeliveryFailure,
  type CallbackAnomaly,
  type CallbackProblem,
  type EventProof,
  type StatusCode,
  type TimestampSource,
} from '../public/events.ts'
import { isRecord, textOf } from '../runtime/values.ts'
import {
  hasFields,
  isAnything,
  isFlag,
  isSeconds,
  isText,
  isTime,
  isTrue,
  oneOf,
  orNone,
  type FieldsOf,
} from './fields.ts'
import { REPORT_SHAPES } from '../public/report-payloads.ts'

const isStatusCode = (value: unknown): value is StatusCode => Number.isSafeInteger(value)

const isFailure = (value: unknown): value is DeliveryFailure =>
  hasFields(
    value,
    { kind: oneOf(FAILURES), resend: isFlag, cause: oneOf(FAILURE_CAUSES) },
    { reason: isText, code: isText },
  )

const FAILURES = ['transient', 'permanent', 'unreachable'] as const

const REPORT_REQUIRED = { type: oneOf(REPORT_TYPES), shape: oneOf(REPORT_SHAPES), messageId: isText }

/** Stores find them by their order: add a field at the end. */
const REPORT_OPTIONAL = {
  channel: isText,
  network: isText,
  carrier: oneOf(CARRIERS),
  status: isText,
  recipient: isText,
  statusCode: isStatusCode,
  failure: isFailure,
  scheduled: isFlag,
}

/** The fields of a delivery report. */
export const REPORT_FIELDS = { ...REPORT_REQUIRED, ...REPORT_OPTIONAL }

/** A delivery report in the common vocabulary. `newEvent` leaves out what the callback leaves empty. */
export interface Report extends FieldsOf<typeof REPORT_REQUIRED>, Partial<FieldsOf<typeof REPORT_OPTIONAL>> {}

const isReport = (value: unknown): value is Report => hasFields(value, REPORT_REQUIRED, REPORT_OPTIONAL)

/** Returns a copy, because handlers may change it. A record written by another tool may lack the cause. */
export function failureOf({ failure }: Report): DeliveryFailure {
  return failure === undefined ? { kind: 'permanent', resend: false, cause: 'unknown_error' } : { ...failure }
}

const PROOFS = ['authKey', 'signature', 'both', 'none'] as const satisfies readonly EventProof[]
const TIMESTAMP_SOURCES = ['payload', 'signature', 'arrival', 'clock'] as const satisfies readonly TimestampSource[]

const isProblem = (value: unknown): value is CallbackProblem => isText(value) && Object.hasOwn(PROBLEMS, value)

const isAnomalies = (value: unknown): value is readonly CallbackAnomaly[] => Array.isArray(value) && value.every(isText)

/** The fields that every stored event has, so that none can be added. */
export const EVENT_FIELDS = {
  project: orNone(isText),
  /** The kind of callback that the middleware was mounted for. */
  kind: orNone(oneOf(CALLBACK_KINDS)),
  /** Unix seconds. With the source `arrival` it serves ordering only and is not an event time: see `knownTime`. */
  timestamp: isSeconds,
  timestampSource: oneOf(TIMESTAMP_SOURCES),
  receivedAtMs: isTime,
  proof: oneOf(PROOFS),
}

/** The fields that few events have, beside the report. Stores find them by their order: add a field at the end. */
export const RARE_FIELDS = {
  anomalies: isAnomalies,
  /** Why the body could not be read. Such an event is `unrecognized`. */
  problem: isProblem,
  /** W3C trace context of the request. Not validated here: see `traceContextOf`. */
  traceparent: isAnything,
  tracestate: isAnything,
  /** A synthetic event: the message that its body names is overdue. */
  overdue: isTrue,
  /** A synthetic event: the outcome of the send that its body names is unknown. */
  unknownSend: isTrue,
}

/** What a store keeps of an event beside its body: which callback it is, when and how it was proved, and its report. */
export interface EventRecord extends FieldsOf<typeof EVENT_FIELDS>, Partial<FieldsOf<typeof RARE_FIELDS>> {
  readonly report?: Report
  /** With a problem: the message that the body names. The event is not a report of it. */
  readonly messageId?: string
}

/**
 * Key of the parsed JSON of `raw` without its authKey, if known, for an event that runs right after admission. It is a symbol
 * because JSON and structured cloning skip symbols.
 */
export const PAYLOAD: unique symbol = Symbol('payload')

/** The position of an event among those of its message. */
export interface Place {
  /**
   * Sort key of the reports of one message. Empty for an event that belongs to no message: it has no order and no latest state.
   * The first 13 characters are time and rank. A report is late if they are smaller than those of the newest dispatched report.
   */
  readonly order: string
  /** The message state keeps every report that is final. Its send decides later whether a transient failure is: see `isFinal`. */
  readonly final: boolean
  /** The chat-app step that this report is, and the step that it waits for, as bits. 0 for none. */
  readonly step: number
  readonly awaits: number
}

/**
 * The ids of the events that this one repeats, compared as text: equal bytes that arrived shortly before it, or after it if they
 * overtook it.
 */
export interface Repetitions {
  readonly from: string
  readonly to: string
}

/** An event to admit. */
export interface NewEvent extends Place {
  /** The idempotency key: two events with the same id are duplicates. */
  readonly id: string
  /** Shared by all events of one message. An event that belongs to no message shares it only with those of equal bytes. */
  readonly messageKey: string
  /** Other ids that are the same event. Decided by `admit` of `src/messages/`. */
  readonly repeats?: Repetitions | undefined
  /** How long a report waits for the step that it `awaits`, from its admission on. */
  readonly reorderWaitMs: number
  readonly record: EventRecord
  /** The bytes of the body, with the authKey masked. */
  readonly raw: Buffer
  [PAYLOAD]?: Readonly<Record<string, unknown>> | undefined
}

/** An object under construction. Optional fields are assigned one by one: spreads cost ten times as much. */
export type InTheMaking<T> = { -readonly [K in keyof T]: T[K] }

/** Only the payload tells the types of premium callbacks apart, so this returns `subscription` for all of them. */
export function typeOfRecord(
  record: EventRecord,
): Exclude<EventType, 'late' | `subscription.${string}`> | 'subscription' {
  const { report, problem, kind, overdue, unknownSend } = record
  if (overdue === true) return 'send.overdue'
  if (unknownSend === true) return 'send.unknown'
  if (report !== undefined) return report.type
  return problem !== undefined || kind === undefined || kind === 'status' ? 'unrecognized' : kind
}

/**
 * Reads a record that a store wrote as JSON. Returns undefined if it is corrupt: another tool, a failing disk or another
 * version of this package may have written it, and a partly read record would become a wrong event.
 */
export function readRecord(json: Uint8Array | undefined): EventRecord | undefined {
  const value = parse(json)
  return isEventRecord(value) ? value : undefined
}

/**
 * Builds the record of a corrupt event from what `json` still holds, with `problem: 'damaged'`. `sinceMs` stands in for a
 * missing time of arrival.
 */
export function damagedRecord(json: Uint8Array | undefined, sinceMs: number): EventRecord {
  const left = parse(json)
  const { project, kind, proof, receivedAtMs } = isRecord(left) ? left : NOTHING
  const arrivedAtMs = isTime(receivedAtMs) ? receivedAtMs : isTime(sinceMs) ? sinceMs : 0
  return {
    project: typeof project === 'string' ? project : undefined,
    kind: CALLBACK_KINDS.find((each) => each === kind),
    timestamp: Math.floor(arrivedAtMs / 1_000),
    timestampSource: 'arrival',
    receivedAtMs: arrivedAtMs,
    // The event was verified before it was stored. If the record does not say how, assume the weaker proof.
    proof: PROOFS.find((each) => each === proof) ?? 'authKey',
    problem: 'damaged',
  }
}

const NOTHING: Readonly<Record<string, unknown>> = {}
function parse(json: Uint8Array | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'))
  } catch {
    return undefined
  }
}

const EVENT_OPTIONAL = { ...RARE_FIELDS, report: isReport, messageId: isText }

export function isEventRecord(value: unknown): value is EventRecord {
  return hasFields(value, EVENT_FIELDS, EVENT_OPTIONAL)
}

/**
 * Parses the body without its authKey, which is already masked in these bytes. Undefined if it is not JSON, because masking by
 * value may have broken an escape. Each call returns a new copy.
 */
export function payloadIn(masked: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(textOf(masked))
  } catch {
    return undefined
  }
  if (!isRecord(value)) return value
  const { authKey: _, ...payload } = value
  return payload
}
