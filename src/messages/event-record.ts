/** The stored form of an event: its fields, which survive a round trip through JSON, and its body. */
import {
  CALLBACK_KINDS,
  CARRIERS,
  FAILURE_CAUSES,
  PROBLEMS,
  REPORT_TYPES,
  type CallbackKind,
  type Carrier,
  type EventType,
  type DeliveryFailure,
  type CallbackAnomaly,
  type CallbackProblem,
  type EventProof,
  type ReportType,
  type StatusCode,
  type TimestampSource,
} from '../public/events.ts'
import { isRecord, textOf } from '../runtime/values.ts'
import { REPORT_SHAPES, type ReportShape } from '../public/report-payloads.ts'

/** A delivery report in the common vocabulary. `newEvent` leaves out what the callback leaves empty. */
export interface Report {
  readonly type: ReportType
  readonly shape: ReportShape
  readonly messageId: string
  readonly channel?: string
  readonly network?: string
  readonly carrier?: Carrier
  readonly recipient?: string
  readonly status?: string
  readonly statusCode?: StatusCode
  readonly scheduled?: boolean
  readonly failure?: DeliveryFailure
}

/** Returns a copy, because handlers may change it. A record written by another tool may lack the cause. */
export function failureOf({ failure }: Report): DeliveryFailure {
  return failure === undefined ? { kind: 'permanent', resend: false, cause: 'unknown_error' } : { ...failure }
}

/** What a store keeps of an event beside its body: which callback it is, when and how it was proved, and its report. */
export interface EventRecord {
  readonly project: string | undefined
  /** The kind of callback that the middleware was mounted for. */
  readonly kind: CallbackKind | undefined
  /** Unix seconds. With the source `arrival` it serves ordering only and is not an event time: see `knownTime`. */
  readonly timestamp: number
  readonly timestampSource: TimestampSource
  readonly receivedAtMs: number
  readonly proof: EventProof
  readonly anomalies?: readonly CallbackAnomaly[]
  /** Why the body could not be read. Such an event is `unrecognized`. */
  readonly problem?: CallbackProblem
  readonly report?: Report
  /** A synthetic event: the message that its body names is overdue. */
  readonly overdue?: true
  /** A synthetic event: the outcome of the send that its body names is unknown. */
  readonly unknownSend?: true
  /** W3C trace context of the request. Not validated here: see `traceContextOf`. */
  readonly traceparent?: unknown
  readonly tracestate?: unknown
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

/** The record of an event whose own cannot be read. */
export function damagedRecord(admittedAtMs: number): EventRecord {
  const atMs = isTime(admittedAtMs) ? admittedAtMs : 0
  return {
    project: undefined,
    kind: undefined,
    timestamp: Math.floor(atMs / 1_000),
    timestampSource: 'arrival',
    receivedAtMs: atMs,
    // The event was verified before it was stored.
    proof: 'authKey',
    problem: 'damaged',
  }
}

const PROOFS: readonly EventProof[] = ['authKey', 'signature', 'both', 'none']
const TIMESTAMP_SOURCES: readonly TimestampSource[] = ['payload', 'signature', 'arrival', 'clock']
const FAILURES: readonly DeliveryFailure['kind'][] = ['transient', 'permanent', 'unreachable']
/** The range of a `Date`. */
const LAST_TIME_MS = 8.64e15

function parse(json: Uint8Array | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'))
  } catch {
    return undefined
  }
}

export function isEventRecord(value: unknown): value is EventRecord {
  if (!isRecord(value)) return false
  const { project, kind, timestamp, timestampSource, receivedAtMs, proof, anomalies, problem, report } = value
  const { overdue, unknownSend } = value
  return (
    isTextOrNone(project) &&
    isOneOfOrNone(CALLBACK_KINDS, kind) &&
    typeof timestamp === 'number' &&
    isTime(timestamp * 1_000) &&
    isOneOf(TIMESTAMP_SOURCES, timestampSource) &&
    isTime(receivedAtMs) &&
    isOneOf(PROOFS, proof) &&
    (anomalies === undefined || (Array.isArray(anomalies) && anomalies.every((each) => typeof each === 'string'))) &&
    (problem === undefined || (typeof problem === 'string' && Object.hasOwn(PROBLEMS, problem))) &&
    (report === undefined || isReport(report)) &&
    (overdue === undefined || overdue === true) &&
    (unknownSend === undefined || unknownSend === true)
  )
}

function isReport(value: unknown): value is Report {
  if (!isRecord(value)) return false
  const { type, shape, messageId, channel, network, carrier, recipient, status, statusCode, scheduled, failure } = value
  return (
    isOneOf(REPORT_TYPES, type) &&
    isOneOf(REPORT_SHAPES, shape) &&
    typeof messageId === 'string' &&
    isTextOrNone(channel) &&
    isTextOrNone(network) &&
    isOneOfOrNone(CARRIERS, carrier) &&
    isTextOrNone(recipient) &&
    isTextOrNone(status) &&
    (statusCode === undefined || Number.isSafeInteger(statusCode)) &&
    (scheduled === undefined || typeof scheduled === 'boolean') &&
    (failure === undefined || isFailure(failure))
  )
}

function isFailure(value: unknown): value is DeliveryFailure {
  return (
    isRecord(value) &&
    isOneOf(FAILURES, value['kind']) &&
    typeof value['resend'] === 'boolean' &&
    isOneOf(FAILURE_CAUSES, value['cause']) &&
    isTextOrNone(value['reason']) &&
    isTextOrNone(value['code'])
  )
}

export function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LAST_TIME_MS
}

export function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isOneOf(words: readonly unknown[], value: unknown): boolean {
  return words.includes(value)
}

function isOneOfOrNone(words: readonly unknown[], value: unknown): boolean {
  return value === undefined || words.includes(value)
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
