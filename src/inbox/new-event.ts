/** Turns a verified body into the event that the inbox admits: reads, normalises, identifies and orders it. */
import { textOf } from '../runtime/values.ts'
import { digestWithoutAuthKeys, type ReadBody } from '../verify/body.ts'
import type { CallbackKind, Carrier, CallbackAnomaly, CallbackProblem, EventProof } from '../public/events.ts'
import {
  isCarrierNumber,
  isExactText,
  isPlainReport,
  isWordGuessed,
  messageNamedIn,
  normaliseStatus,
  readReport,
  readTimestamp,
  type NormalisedStatus,
  type ReportPayload,
} from '../carriers/report.ts'
import { readSubscription } from '../carriers/vocabularies.ts'
import type { TraceContext } from '../public/callback.ts'
import {
  bodyIdentity,
  chosenIdentity,
  EXPECTED,
  messageKey,
  NO_PLACE,
  placeOf,
  reportIdentity,
} from '../messages/order.ts'
import type { EventRecord, InTheMaking, Report } from '../messages/event-record.ts'
import { SEND_WAIT_MS } from '../messages/sends.ts'
import { PAYLOAD, type NewEvent } from '../messages/event-record.ts'

/** A callback with a verified sender. */
export interface ProvenCallback {
  readonly kind: CallbackKind | undefined
  readonly body: ReadBody
  /** The bytes with every authKey masked. */
  readonly masked: Buffer
  /** The bytes as parsed JSON, if known. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined
  readonly proof: EventProof
  /** Keeps the messages of different projects apart. Undefined with a single project, whatever its name. */
  readonly scope: string | undefined
  readonly project: string | undefined
  readonly signedAt: number | undefined
  readonly arrivedAtMs: number
  /** The trace of the request, if the receiver traces. */
  readonly trace?: TraceContext | undefined
}

/** The argument of `dedupeKey`. */
export interface DedupeKeyInput {
  readonly kind: CallbackKind | undefined
  readonly project: string | undefined
  readonly messageId: string | undefined
  readonly status: string | undefined
  /** Unix seconds, if the payload has a usable time. */
  readonly timestamp: number | undefined
  /** The `t` of the signature, in Unix seconds, if the signature is valid. */
  readonly signedAt: number | undefined
  readonly receivedAt: Date
  /** The bytes of the body with the authKey masked. */
  readonly raw: Buffer
}

export interface NewEventOptions {
  /** Maps network names in callbacks to carriers. */
  readonly networks: ReadonlyMap<string, Carrier>
  readonly gapTimeoutMs: number
  /** Whether a send of this process awaits its answer. A report may arrive before the answer to its own send, so it waits. */
  readonly isSendPending?: ((nowMs: number) => boolean) | undefined
  /** Callbacks that nothing else tells apart are the same event if they arrive within this time. */
  readonly toleranceSeconds: number
  /** Called with the network of a word whose carrier is unknown. Must not throw. */
  readonly guessed?: (network: string) => void
  /** The user's function for the idempotency key. Undefined for the default. */
  readonly dedupeKey: ((input: DedupeKeyInput) => string | undefined) | undefined
  /** The user's function that reads a report. Undefined for the default. Never throws. */
  readonly readReport?: ((callback: ProvenCallback) => ReportPayload | undefined) | undefined
}

/** Never throws. The callback is authentic, so an unreadable body becomes an event with a problem. */
export function newEvent(callback: ProvenCallback, options: NewEventOptions): NewEvent {
  const { kind, body, arrivedAtMs } = callback
  const { fields } = body
  if (fields === undefined) return bodyEvent(callback, options, body.problem)
  const own = options.readReport?.(callback)
  const payload = own ?? readReport(fields, kind === 'status' ? kind : undefined, arrivedAtMs, () => textOf(body.bytes))
  if (own === undefined && kind !== undefined && kind !== 'status') {
    if (typeof payload === 'string') return bodyEvent(callback, options, undefined)
    const isPremium = kind === 'subscription' && readSubscription(fields).word !== 'other'
    const isMisplaced = !isPremium && isPlainReport(fields, payload)
    // Another callback may name the same message, status and time, so only a plain report is compared with the reports.
    return isMisplaced ? bodyEvent(callback, options, 'kind_differs', payload) : bodyEvent(callback, options, undefined)
  }
  if (typeof payload === 'string') return bodyEvent(callback, options, payload)
  const { network } = payload
  const normalised = normaliseStatus({
    ...payload,
    carrier: network === undefined ? undefined : options.networks.get(network),
  })
  if (normalised === undefined) return bodyEvent(callback, options, 'unknown_status')
  if (options.guessed !== undefined && network !== undefined && network !== '' && isWordGuessed(payload, normalised))
    options.guessed(network)
  return reportEvent(callback, options, payload, normalised)
}

function reportEvent(
  callback: ProvenCallback,
  options: NewEventOptions,
  payload: ReportPayload,
  normalised: NormalisedStatus,
): NewEvent {
  const { scope, masked, arrivedAtMs, kind } = callback
  const { messageId, status, timestamp, anomalies } = payload
  const word = status === '' ? undefined : status
  const chosen = options.dedupeKey?.(dedupeKeyInput(callback, { messageId, status: word, timestamp }))
  const id =
    chosen === undefined
      ? identityOfReport(callback, payload)
      : chosenIdentity({ project: scope, kind, messageId, chosen })
  // An unknown word or number is an anomaly, but identifies the event like any other word.
  const anomaly = anomalyOf(status, normalised)
  const record = recordOf(callback, timestamp, anomaly === undefined ? anomalies : [...anomalies, anomaly])
  const report = reportOf(payload, normalised)
  record.report = report
  const { order, final, step, awaits } = placeOf(id, report, record)
  const { gapTimeoutMs, isSendPending } = options
  const isSendAwaited = isSendPending?.(arrivedAtMs) === true
  return {
    id,
    messageKey: messageKey(scope, messageId),
    order,
    final,
    step,
    awaits: isSendAwaited && awaits === 0 ? EXPECTED : awaits,
    // A report that waits for an earlier report may also have arrived before the answer to its send.
    reorderWaitMs: Math.max(isSendAwaited ? SEND_WAIT_MS : 0, awaits === 0 ? 0 : gapTimeoutMs),
    record,
    raw: masked,
    [PAYLOAD]: callback.payload,
  }
}

function anomalyOf(status: string, normalised: NormalisedStatus): CallbackAnomaly | undefined {
  if (normalised.failure?.cause === 'carrier_word') return 'unknown_word'
  return isCarrierNumber(status, normalised) ? 'carrier_number' : undefined
}

function identityOfReport(
  { body, scope, project }: ProvenCallback,
  { messageId, status, statusCode, timestamp, anomalies }: ReportPayload,
): string {
  // If a field is not exact or a time is not used, only the digest of the body tells two such events apart.
  const isExact = anomalies.length === 0 && isExactText(project ?? '')
  return reportIdentity({
    // A single credential without a project name may serve several projects: use the project in the body.
    project: scope ?? project,
    messageId,
    status,
    statusCode,
    timestamp,
    bodyDigest: isExact ? undefined : digestWithoutAuthKeys(body),
  })
}

/**
 * An event without an order: a payment, a received message, a subscription, or an unreadable callback. `report`: its body, a
 * plain report at the URL of another kind.
 */
function bodyEvent(
  callback: ProvenCallback,
  options: NewEventOptions,
  problem: CallbackProblem | undefined,
  report?: ReportPayload,
): NewEvent {
  const { body, masked, arrivedAtMs } = callback
  const { seconds, anomaly } = readTimestamp(body.fields?.['timestamp'], arrivedAtMs)
  const record = recordOf(callback, seconds, anomaly === undefined ? [] : [anomaly])
  const needsMessage = problem !== undefined || seconds === undefined
  const messageId = needsMessage && body.fields ? messageNamedIn(body.fields, () => textOf(body.bytes)) : undefined
  if (problem !== undefined) {
    record.problem = problem
    if (messageId !== undefined) record.messageId = messageId
  }
  return {
    ...identityOfBody(callback, options, { timestamp: seconds, messageId }, report),
    ...NO_PLACE,
    reorderWaitMs: 0,
    record,
    raw: masked,
    [PAYLOAD]: callback.payload,
  }
}

function identityOfBody(
  callback: ProvenCallback,
  { dedupeKey, toleranceSeconds }: NewEventOptions,
  { timestamp, messageId }: Pick<DedupeKeyInput, 'timestamp' | 'messageId'>,
  report: ReportPayload | undefined,
): Pick<NewEvent, 'id' | 'messageKey' | 'repeats'> {
  const { kind, body, scope, project, signedAt, arrivedAtMs } = callback
  const chosen = dedupeKey?.(dedupeKeyInput(callback, { messageId: undefined, status: undefined, timestamp }))
  if (chosen !== undefined) {
    const id = chosenIdentity({ project: scope, kind, messageId: undefined, chosen })
    return { id, messageKey: id }
  }
  const identity = bodyIdentity({
    project: scope ?? project,
    bodyDigest: digestWithoutAuthKeys(body),
    isDistinct: timestamp !== undefined || messageId !== undefined,
    signedAt,
    arrivedAtMs,
    toleranceSeconds,
  })
  if (report === undefined) return identity
  // A report that was accepted at its own URL and is replayed to this one is a duplicate. The reverse is not: a report that came
  // here first must still become one at its own URL.
  const reportId = identityOfReport(callback, report)
  return { id: identity.id, messageKey: messageKey(scope, report.messageId), repeats: { from: reportId, to: reportId } }
}

function dedupeKeyInput(
  { kind, project, signedAt, arrivedAtMs, masked }: ProvenCallback,
  report: Pick<DedupeKeyInput, 'messageId' | 'status' | 'timestamp'>,
): DedupeKeyInput {
  return { kind, project, ...report, signedAt, receivedAt: new Date(arrivedAtMs), raw: masked }
}

/** The time is that of the payload, otherwise the verified `t` of the signature, otherwise the arrival. */
function recordOf(
  callback: ProvenCallback,
  ownSeconds: number | undefined,
  odd: readonly CallbackAnomaly[],
): InTheMaking<EventRecord> {
  const { project, kind, arrivedAtMs, proof, body, signedAt, trace } = callback
  const known = ownSeconds ?? signedAt
  const record: InTheMaking<EventRecord> = {
    project,
    kind,
    timestamp: known ?? Math.floor(arrivedAtMs / 1_000),
    timestampSource: ownSeconds !== undefined ? 'payload' : signedAt !== undefined ? 'signature' : 'arrival',
    receivedAtMs: arrivedAtMs,
    proof,
  }
  const anomalies: readonly CallbackAnomaly[] = body.duplicateKey ? ['duplicate_key', ...odd] : odd
  if (anomalies.length > 0) record.anomalies = anomalies
  if (trace !== undefined) keepTrace(record, trace)
  return record
}

/** Two fields instead of an object, because a durable store writes them with each event. */
function keepTrace(record: InTheMaking<EventRecord>, { traceparent, tracestate }: TraceContext): void {
  record.traceparent = traceparent
  if (tracestate !== undefined) record.tracestate = tracestate
}

/** Omits empty fields, so that an empty string and a missing field look the same to readers. */
function reportOf(payload: ReportPayload, normalised: NormalisedStatus): Report {
  const { shape, messageId, channel, network, recipient, status } = payload
  const report: InTheMaking<Report> = { ...normalised, shape, messageId }
  if (channel !== '') report.channel = channel
  if (network !== undefined && network !== '') report.network = network
  if (recipient !== undefined && recipient !== '') report.recipient = recipient
  if (status !== '') report.status = status
  return report
}
