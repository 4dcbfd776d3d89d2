/** Builds the event that handlers receive from its stored record and bytes. */
import {
  payloadIn,
  failureOf,
  typeOfRecord,
  type EventRecord,
  type InTheMaking,
  type Report,
} from '../messages/event-record.ts'
import { applySchema, type SchemaResult } from '../runtime/apply-schema.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined, isRecord, letReject } from '../runtime/values.ts'
import {
  SUBSCRIPTION_WORDS,
  type CommonFields,
  type EventType,
  type DeliveryFailure,
  type LateEvent,
  type OverdueEvent,
  type CallbackProblem,
  type ReportEvent,
  type ReportFields,
  type CallbackSchemas,
  type SentDetails,
  type SubscriptionWord,
  type UnknownSendEvent,
  type UnrecognizedEvent,
  type WebhookEvent,
} from '../public/events.ts'
import {
  pendingSend,
  isExpectation,
  sentDetails,
  type Expectation,
  type KnownExpectation,
} from '../messages/expected.ts'
import { knownTime } from '../messages/order.ts'
import type { Awaitable } from '../inbox/store.ts'
import { readSubscription, type ReadSubscription } from '../carriers/vocabularies.ts'

/** The part of a claim from which an event is built. */
export interface Kept {
  readonly id: string
  readonly late: boolean
  readonly record: EventRecord
  readonly raw: Buffer
  readonly expected?: KnownExpectation | undefined
}

export interface ReviveOptions {
  readonly schemas: CallbackSchemas
  /** The `subscriptionType` option. If it is undefined or returns undefined, the payload decides. */
  readonly subscriptionType: ((payload: Readonly<Record<string, unknown>>) => SubscriptionWord | undefined) | undefined
  readonly schemaTimeoutMs: number
  readonly clock: Clock
}

/** The fields of every event, in one order, so that events of one type share a hidden class. */
function begin<T extends string, P>(
  type: T,
  { id, record, raw }: Kept,
  payload: P,
): InTheMaking<CommonFields> & { readonly type: T; readonly payload: P } {
  const { project, timestampSource, receivedAtMs, proof, anomalies } = record
  const timestamp = knownTime(record)
  const common: InTheMaking<Omit<CommonFields, 'raw'>> & { readonly type: T; readonly payload: P } = {
    type,
    id,
    project,
    occurredAt: timestamp === undefined ? undefined : new Date(timestamp * 1_000),
    timestamp,
    timestampSource,
    receivedAt: new Date(receivedAtMs),
    proof,
    payload,
  }
  if (anomalies !== undefined) common.anomalies = [...anomalies]
  // Not enumerable, so that logs and job queues that serialise the event do not repeat the body. A copy, because handlers may
  // change it. Copied at once: an accessor would give each event its own hidden class, which costs more than copying a typical
  // body. The types of `defineProperty` do not show the added property.
  return Object.defineProperty(common, 'raw', { value: Buffer.from(raw) }) as typeof common & { readonly raw: Buffer }
}

/**
 * Builds the event from its body, or from the parsed payload (`known`) if there is one, which then belongs to the event.
 * Applies the user's schema, so a replay applies it again.
 */
export function revive(kept: Kept, options: ReviveOptions, known?: Record<string, unknown>): Awaitable<WebhookEvent> {
  const { record } = kept
  if (record.report !== undefined) {
    const report = reportEvent(kept, known ?? fieldsOf(kept), record.report)
    return kept.late ? lateEvent(kept, report) : report
  }
  const payload = known ?? payloadOf(kept)
  if (record.overdue === true && isExpectation(payload)) return overdueEvent(kept, payload)
  if (record.unknownSend === true && isExpectation(payload)) return unknownSendEvent(kept, payload)
  if (record.problem !== undefined || record.kind === undefined || record.kind === 'status' || !isRecord(payload))
    return unrecognized(kept, payload, record.problem ?? (payload === undefined ? 'not_json' : 'unknown_shape'))
  return reviveData(kept, payload, record.kind, options)
}

/** The type before a schema is applied. An event whose schema refuses the payload is dispatched as `unrecognized`. */
export function typeOf(kept: Kept, options: ReviveOptions): EventType {
  const { report } = kept.record
  if (report !== undefined) return kept.late ? 'late' : report.type
  const type = typeOfRecord(kept.record)
  if (type !== 'subscription') return type
  const payload = payloadOf(kept)
  return isRecord(payload) ? `subscription.${subscriptionOf(payload, options).word}` : 'unrecognized'
}

type DataKind = 'received' | 'payment' | 'subscription'
type DataType = 'received' | 'payment' | `subscription.${SubscriptionWord}`

function reviveData(
  kept: Kept,
  payload: Record<string, unknown>,
  kind: DataKind,
  options: ReviveOptions,
): Awaitable<WebhookEvent> {
  const subscription = kind === 'subscription' ? subscriptionOf(payload, options) : undefined
  const type = kind === 'subscription' ? (`subscription.${subscription?.word ?? 'other'}` as const) : kind
  const build = (result: SchemaResult): WebhookEvent => {
    if (result.problem !== undefined) return unrecognized(kept, payload, result.problem, result.paths)
    const original = subscription?.word === 'other' ? subscription.text : undefined
    const event = begin(type, kept, payload)
    // The schema decides the type of `data`. `EventMap` tells the compiler the same.
    return Object.assign(event, original === undefined ? undefined : { word: original }, {
      data: result.data,
    }) as WebhookEvent
  }
  const result = applySchema(schemaFor(type, options.schemas), payload, 'data', options)
  return result instanceof Promise ? result.then(build) : build(result)
}

function schemaFor(type: DataType, schemas: CallbackSchemas): CallbackSchemas[keyof CallbackSchemas] {
  return schemas[type] ?? (type === 'received' || type === 'payment' ? undefined : schemas.subscription)
}

function subscriptionOf(payload: Record<string, unknown>, { subscriptionType }: ReviveOptions): ReadSubscription {
  const read = readSubscription(payload)
  if (subscriptionType === undefined) return read
  try {
    const chosen: unknown = subscriptionType(payload)
    letReject(chosen)
    const word = SUBSCRIPTION_WORDS.find((known) => known === chosen)
    return word === undefined ? read : { word, text: read.text }
  } catch {
    return read
  }
}

const NOT_PARSED: ReadonlySet<CallbackProblem | undefined> = new Set<CallbackProblem>([
  'empty_body',
  'content_encoding',
  'not_json',
  'too_deep',
  'too_many_values',
])

function payloadOf({ record, raw }: Kept): unknown {
  return NOT_PARSED.has(record.problem) ? undefined : payloadIn(raw)
}

/** A payload that can no longer be read has no fields. */
function fieldsOf(kept: Kept): Record<string, unknown> {
  const payload = payloadOf(kept)
  return isRecord(payload) ? payload : {}
}

type ReportInTheMaking = InTheMaking<CommonFields & Partial<Omit<ReportFields, keyof CommonFields>>> & {
  scheduled?: boolean
  failure?: DeliveryFailure
  sent?: SentDetails
  wasOverdue?: true
}

function reportEvent(kept: Kept, payload: Record<string, unknown>, report: Report): ReportEvent {
  const { type, shape, messageId, channel, network, carrier, recipient, status, statusCode } = report
  const event: ReportInTheMaking = begin(type, kept, payload)
  event.shape = shape
  event.messageId = messageId
  if (channel !== undefined) event.channel = channel
  if (network !== undefined) event.network = network
  if (carrier !== undefined) event.carrier = carrier
  if (recipient !== undefined) event.recipient = recipient
  if (status !== undefined) event.status = status
  if (statusCode !== undefined) event.statusCode = statusCode
  if (type === 'message.queued') event.scheduled = report.scheduled ?? false
  if (type === 'message.failed') event.failure = failureOf(report)
  if (kept.expected !== undefined) {
    event.sent = sentDetails(kept.expected.expectation)
    if (kept.expected.wasOverdue) event.wasOverdue = true
  }
  // Each type has its own fields here. `shape`, like the type, is what the sender claims.
  return event as ReportEvent
}

function overdueEvent(kept: Kept, expectation: Expectation): OverdueEvent {
  const { messageId = '', channel } = expectation
  const event = begin('send.overdue', kept, { ...expectation })
  const sent = sentDetails(expectation)
  return Object.assign(event, defined({ channel }), {
    messageId,
    proof: 'none' as const,
    sent,
  })
}

function unknownSendEvent(kept: Kept, expectation: Expectation): UnknownSendEvent {
  const { channel } = expectation
  const event = begin('send.unknown', kept, { ...expectation })
  const sent = pendingSend(expectation)
  return Object.assign(event, defined({ channel }), {
    reference: sent.reference,
    proof: 'none' as const,
    sent,
  })
}

function lateEvent(kept: Kept, report: ReportEvent): LateEvent {
  const { messageId, channel, payload } = report
  const event = Object.assign(begin('late', kept, payload), { messageId, report })
  return channel === undefined ? event : Object.assign(event, { channel })
}

function unrecognized(
  kept: Kept,
  data: unknown,
  problem: CallbackProblem,
  refused: readonly string[] = [],
): UnrecognizedEvent {
  const { kind } = kept.record
  const event = begin('unrecognized', kept, data)
  const paths = refused.length === 0 ? undefined : refused
  return Object.assign(event, defined({ kind }), { data, problem }, defined({ paths }))
}
