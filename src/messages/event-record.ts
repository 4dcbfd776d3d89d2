/** What is kept of an event beside its bytes: small, plain, and safe to write as JSON. Stores read it back with `readRecord`. */
import {
  CALLBACK_KINDS,
  CARRIERS,
  FAILURE_CAUSES,
  PROBLEMS,
  REPORT_TYPES,
  type CallbackKind,
  type Carrier,
  type EventType,
  type Failure,
  type Oddity,
  type Problem,
  type Proof,
  type ReportType,
  type StatusCode,
  type TimestampSource,
} from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'
import { REPORT_SHAPES, type ReportShape } from '../public/report-payloads.ts'

/** A delivery report in the one vocabulary. What the callback leaves empty is absent here; `newEvent` sees to that. */
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
  readonly failure?: Failure
}

/** Why it failed: a copy, for what is kept is not a user's to change. A record that others wrote may not say why. */
export function failureOf({ failure }: Report): Failure {
  return failure === undefined ? { kind: 'permanent', resend: false, cause: 'unknown_error' } : { ...failure }
}

/** What is kept of an event beside its bytes. */
export interface EventRecord {
  readonly project: string | undefined
  /** The kind that the middleware was mounted with. */
  readonly kind: CallbackKind | undefined
  /** Unix seconds; by `arrival` it serves the order, and is no time of the event: see `knownTime`. */
  readonly timestamp: number
  readonly timestampSource: TimestampSource
  readonly receivedAtMs: number
  readonly proof: Proof
  readonly oddities?: readonly Oddity[]
  /** Why the body could not be read; such an event is `unrecognized`. */
  readonly problem?: Problem
  readonly report?: Report
  /** No callback: the message that its bytes name has become overdue. */
  readonly overdue?: true
  /** No callback: of the send that its bytes name nobody knows what came of it. */
  readonly unknownSend?: true
  /** Of which trace the request was part that brought it; unchecked, for a record is none the worse: see `traceContextOf`. */
  readonly traceparent?: unknown
  readonly tracestate?: unknown
}

/** The type of its event, as far as the record tells: of which kind a premium callback is, only the payload says. */
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
 * What a store reads back of a record that it wrote as JSON; undefined where it is damaged. Somebody else's tool, a failing
 * disk or another version of this package may have written it, and a record that is half read would become a wrong event.
 */
export function readRecord(json: Uint8Array | undefined): EventRecord | undefined {
  const value = parse(json)
  return isEventRecord(value) ? value : undefined
}

/**
 * The record of an event of which the rest is damaged: what can still be read of the old one (`json`), under
 * `problem: 'damaged'`. `sinceMs` stands in for its time, as far as anything says when it came.
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
    // It was proved before it was stored; where nothing says how, nobody shall take it for more than the weaker proof.
    proof: PROOFS.find((each) => each === proof) ?? 'authKey',
    problem: 'damaged',
  }
}

const NOTHING: Readonly<Record<string, unknown>> = {}
const PROOFS: readonly Proof[] = ['authKey', 'signature', 'both', 'none']
const TIMESTAMP_SOURCES: readonly TimestampSource[] = ['payload', 'signature', 'arrival', 'clock']
const FAILURES: readonly Failure['kind'][] = ['transient', 'permanent', 'unreachable']
/** What a `Date` can hold. */
const LAST_TIME_MS = 8.64e15

function parse(json: Uint8Array | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'))
  } catch {
    return undefined
  }
}

/** Whether a value that a store has read back is a record. */
export function isEventRecord(value: unknown): value is EventRecord {
  if (!isRecord(value)) return false
  const { project, kind, timestamp, timestampSource, receivedAtMs, proof, oddities, problem, report } = value
  const { overdue, unknownSend } = value
  return (
    isTextOrNone(project) &&
    isOneOfOrNone(CALLBACK_KINDS, kind) &&
    typeof timestamp === 'number' &&
    isTime(timestamp * 1_000) &&
    isOneOf(TIMESTAMP_SOURCES, timestampSource) &&
    isTime(receivedAtMs) &&
    isOneOf(PROOFS, proof) &&
    (oddities === undefined || (Array.isArray(oddities) && oddities.every((each) => typeof each === 'string'))) &&
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

function isFailure(value: unknown): value is Failure {
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
