/** From a proven body to what the inbox admits: read, normalised, identified, put in order. */
import { textOf } from '../runtime/values.ts'
import { digestWithoutAuthKeys, type ReadBody } from '../verify/body.ts'
import type { CallbackKind, Carrier, Oddity, Problem, Proof } from '../public/events.ts'
import {
  isExactText,
  normaliseStatus,
  readReport,
  readTimestamp,
  type NormalisedStatus,
  type ReportPayload,
} from '../carriers/report.ts'
import type { TraceContext } from '../public/trace-context.ts'
import { bodyIdentity, chosenIdentity, EXPECTED, messageKey, placeOf, reportIdentity } from '../messages/order.ts'
import type { EventRecord, Report } from '../messages/event-record.ts'
import { PAYLOAD, type NewEvent } from './store.ts'

/** A callback whose sender is proved. */
export interface ProvenCallback {
  readonly kind: CallbackKind | undefined
  readonly body: ReadBody
  /** The bytes with every authKey masked. */
  readonly masked: Buffer
  /** What these bytes are as JSON, where that is known. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined
  readonly proof: Proof
  /** What keeps the messages of several projects apart; undefined where there is one, whatever its name. */
  readonly scope: string | undefined
  readonly project: string | undefined
  readonly signedAt: number | undefined
  readonly arrivedAtMs: number
  /** Of which trace the request was part, where somebody traces. */
  readonly trace?: TraceContext | undefined
}

/** What `dedupeKey` is shown. */
export interface DedupeKeyInput {
  readonly kind: CallbackKind | undefined
  readonly project: string | undefined
  readonly messageId: string | undefined
  readonly status: string | undefined
  /** Unix seconds, where the payload has a usable time. */
  readonly timestamp: number | undefined
  /** The body's bytes with the authKey masked. */
  readonly raw: Buffer
}

export interface NewEventOptions {
  /** The networks by the names that callbacks give them. */
  readonly networks: ReadonlyMap<string, Carrier>
  readonly gapTimeoutMs: number
  /** How long a report waits for `expect` to be told of its message, and until when reports do; none where it is left out. */
  readonly orphans?: { readonly holdMs: number; readonly untilMs: number } | undefined
  /** The user's own identity; undefined for the default one. */
  readonly dedupeKey: ((input: DedupeKeyInput) => string | undefined) | undefined
  /** The user's own reading of a report; undefined for the default one. Never throws. */
  readonly readReport?: ((callback: ProvenCallback) => ReportPayload | undefined) | undefined
}

/** Never throws for a body: what cannot be read becomes an event with a problem, for it is authentic all the same. */
export function newEvent(callback: ProvenCallback, options: NewEventOptions): NewEvent {
  const { kind, body, arrivedAtMs } = callback
  const { fields } = body
  if (fields === undefined) return bodyEvent(callback, options, body.problem)
  const own = options.readReport?.(callback)
  if (own === undefined && kind !== undefined && kind !== 'status') return bodyEvent(callback, options, undefined)
  const payload = own ?? readReport(fields, kind === 'status' ? kind : undefined, arrivedAtMs, () => textOf(body.bytes))
  if (typeof payload === 'string') return bodyEvent(callback, options, payload)
  const { network } = payload
  const normalised = normaliseStatus({
    ...payload,
    carrier: network === undefined ? undefined : options.networks.get(network),
  })
  if (normalised === undefined) return bodyEvent(callback, options, 'unknown_status')
  return reportEvent(callback, options, payload, normalised)
}

function reportEvent(
  callback: ProvenCallback,
  options: NewEventOptions,
  payload: ReportPayload,
  normalised: NormalisedStatus,
): NewEvent {
  const { body, scope, masked, arrivedAtMs, kind, project } = callback
  const { messageId, status, statusCode, timestamp, oddities } = payload
  // Where a field is not exactly the one that was sent, or a time is not used, two events could look the same.
  const isExact = oddities.length === 0 && isExactText(project ?? '')
  const chosen = options.dedupeKey?.({
    kind,
    project,
    messageId,
    status: status === '' ? undefined : status,
    timestamp,
    raw: masked,
  })
  const id =
    chosen === undefined
      ? reportIdentity({
          // With one unnamed pair the body's own word keeps two projects apart.
          project: scope ?? project,
          messageId,
          status,
          statusCode,
          timestamp,
          bodyDigest: isExact ? undefined : digestWithoutAuthKeys(body),
        })
      : chosenIdentity({ project: scope, kind, messageId, chosen })
  // A word in no table is odd, and yet identifies the event as well as any other.
  const isUnknownWord = normalised.failure?.cause === 'carrier_word'
  const record = recordOf(callback, timestamp, isUnknownWord ? [...oddities, 'unknown_word'] : oddities)
  const report = reportOf(payload, normalised)
  record.report = report
  const { order, final, step, awaits } = placeOf(id, report, record)
  const { gapTimeoutMs, orphans } = options
  const holdMs = orphans !== undefined && arrivedAtMs < orphans.untilMs ? orphans.holdMs : 0
  const isOrphan = awaits === 0 && holdMs > 0
  return {
    id,
    messageKey: messageKey(scope, messageId),
    order,
    final,
    step,
    awaits: isOrphan ? EXPECTED : awaits,
    // What waits for an earlier report may be before the word of its send, too.
    gapUntilMs: arrivedAtMs + (isOrphan || holdMs > gapTimeoutMs ? holdMs : gapTimeoutMs),
    record,
    raw: masked,
    [PAYLOAD]: callback.payload,
  }
}

/** An event of no message: a payment, a received message, a subscription, or what could not be read. */
function bodyEvent(callback: ProvenCallback, options: NewEventOptions, problem: Problem | undefined): NewEvent {
  const { kind, body, scope, project, masked, arrivedAtMs } = callback
  const { seconds, oddity } = readTimestamp(body.fields?.['timestamp'], arrivedAtMs)
  const chosen = options.dedupeKey?.({
    kind,
    project,
    messageId: undefined,
    status: undefined,
    timestamp: seconds,
    raw: masked,
  })
  const id =
    chosen === undefined
      ? bodyIdentity(scope ?? project, kind, digestWithoutAuthKeys(body))
      : chosenIdentity({ project: scope, kind, messageId: undefined, chosen })
  const record = recordOf(callback, seconds, oddity === undefined ? [] : [oddity])
  if (problem !== undefined) record.problem = problem
  return {
    id,
    messageKey: id,
    order: '',
    final: false,
    step: 0,
    awaits: 0,
    gapUntilMs: arrivedAtMs,
    record,
    raw: masked,
    [PAYLOAD]: callback.payload,
  }
}

type InTheMaking<T> = { -readonly [K in keyof T]: T[K] }

/** Its time: the payload's own, else the signature's `t` where it holds, else the arrival. */
function recordOf(
  callback: ProvenCallback,
  ownSeconds: number | undefined,
  odd: readonly Oddity[],
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
  const oddities: readonly Oddity[] = body.duplicateKey ? ['duplicate_key', ...odd] : odd
  if (oddities.length > 0) record.oddities = oddities
  if (trace !== undefined) keepTrace(record, trace)
  return record
}

/** Two members and no object, for a durable store writes them beside each event. */
function keepTrace(record: InTheMaking<EventRecord>, { traceparent, tracestate }: TraceContext): void {
  record.traceparent = traceparent
  if (tracestate !== undefined) record.tracestate = tracestate
}

/** Put in one by one, and none that is empty: nobody shall have to tell an empty text from none. */
function reportOf(payload: ReportPayload, normalised: NormalisedStatus): Report {
  const { shape, messageId, channel, network, recipient, status } = payload
  const report: InTheMaking<Report> = { ...normalised, shape, messageId }
  if (channel !== '') report.channel = channel
  if (network !== undefined && network !== '') report.network = network
  if (recipient !== undefined && recipient !== '') report.recipient = recipient
  if (status !== '') report.status = status
  return report
}
