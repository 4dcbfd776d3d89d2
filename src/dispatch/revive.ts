/** From what the store kept to the event that handlers see. */
import { payloadIn } from '../carriers/payload.ts'
import { applySchema, type SchemaResult } from '../runtime/apply-schema.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import {
  SUBSCRIPTION_WORDS,
  type CommonFields,
  type EventType,
  type Failure,
  type LateEvent,
  type OverdueEvent,
  type Problem,
  type ReportEvent,
  type ReportFields,
  type Schemas,
  type SentDetails,
  type SubscriptionWord,
  type UnknownSendEvent,
  type UnrecognizedEvent,
  type WebhookEvent,
} from '../public/events.ts'
import { begunSend, isExpectation, sentDetails, type Expectation, type KnownExpectation } from '../messages/expected.ts'
import { knownTime } from '../messages/order.ts'
import { failureOf, typeOfRecord, type EventRecord, type Report } from '../messages/event-record.ts'
import type { Awaitable } from '../inbox/store.ts'
import { isRecord, letReject } from '../runtime/values.ts'
import { readSubscription, type ReadSubscription } from '../carriers/subscription.ts'

/** What of a claim makes an event. */
export interface Kept {
  readonly id: string
  readonly late: boolean
  readonly record: EventRecord
  readonly raw: Buffer
  readonly expected?: KnownExpectation | undefined
}

export interface ReviveOptions {
  readonly schemas: Schemas
  /** The user's own word on which of the premium callbacks one is; undefined for what the payload says. */
  readonly subscriptionType: ((payload: Readonly<Record<string, unknown>>) => SubscriptionWord | undefined) | undefined
  /** Whether a late report comes as `late` or as itself. */
  readonly late: 'separate' | 'inline'
  readonly schemaTimeoutMs: number
  readonly clock: Clock
}

/** While it is built: fields that may be absent are put in one by one, for a spread for each costs ten times as much. */
type InTheMaking<T> = { -readonly [K in keyof T]: T[K] }

/** The fields that every event has, in one order: events of one type have one hidden class. */
function begin<T extends string, P>(
  type: T,
  { id, record, raw }: Kept,
  payload: P,
): InTheMaking<CommonFields> & { readonly type: T; readonly payload: P } {
  const { project, timestampSource, receivedAtMs, proof, oddities } = record
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
  if (oddities !== undefined) common.oddities = [...oddities]
  // Not enumerable, so that neither a log nor a job queue that prints the event prints the whole body again. A copy, for what
  // is kept is not a handler's to change; made at once, for an accessor of its own would give each event a hidden class of
  // its own, which costs more than to copy a usual body. `defineProperty` is typed as if it added nothing.
  return Object.defineProperty(common, 'raw', { value: Buffer.from(raw) }) as typeof common & { readonly raw: Buffer }
}

/**
 * Builds the event from its bytes, or of what is `known` to be in them, where somebody has parsed them already; it becomes the event's
 * own. The user's schema runs here, so that a replay runs it again.
 */
export function revive(kept: Kept, options: ReviveOptions, known?: Record<string, unknown>): Awaitable<WebhookEvent> {
  const { record } = kept
  if (record.report !== undefined) {
    const report = reportEvent(kept, known ?? fieldsOf(kept), record.report)
    if (!kept.late || options.late === 'inline') return report
    return lateEvent(kept, report)
  }
  const payload = known ?? payloadOf(kept)
  if (record.overdue === true && isExpectation(payload)) return overdueEvent(kept, payload)
  if (record.unknownSend === true && isExpectation(payload)) return unknownSendEvent(kept, payload)
  if (record.problem !== undefined || record.kind === undefined || record.kind === 'status' || !isRecord(payload))
    return unrecognized(kept, payload, record.problem ?? (payload === undefined ? 'not_json' : 'unknown_shape'))
  return reviveData(kept, payload, record.kind, options)
}

/** The type that it will come as; where a schema refuses the payload, it comes as `unrecognized` all the same. */
export function typeOf(kept: Kept, options: ReviveOptions): EventType {
  const { report } = kept.record
  if (report !== undefined) return kept.late && options.late === 'separate' ? 'late' : report.type
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
    if (result.problem !== undefined) return unrecognized(kept, payload, result.problem)
    const said = subscription?.word === 'other' ? subscription.said : undefined
    const event = begin(type, kept, payload)
    // The schema decides the type of `data`; `EventMap` says the same to the compiler.
    return Object.assign(event, said === undefined ? undefined : { word: said }, { data: result.data }) as WebhookEvent
  }
  const result = applySchema(schemaFor(type, options.schemas), payload, options)
  return result instanceof Promise ? result.then(build) : build(result)
}

function schemaFor(type: DataType, schemas: Schemas): Schemas[keyof Schemas] {
  return schemas[type] ?? (type === 'received' || type === 'payment' ? undefined : schemas.subscription)
}

function subscriptionOf(payload: Record<string, unknown>, { subscriptionType }: ReviveOptions): ReadSubscription {
  const read = readSubscription(payload)
  if (subscriptionType === undefined) return read
  try {
    const chosen: unknown = subscriptionType(payload)
    letReject(chosen)
    const word = SUBSCRIPTION_WORDS.find((known) => known === chosen)
    return word === undefined ? read : { word, said: read.said }
  } catch {
    return read
  }
}

const NOT_PARSED: ReadonlySet<Problem | undefined> = new Set<Problem>([
  'empty_body',
  'content_encoding',
  'not_json',
  'too_deep',
  'too_many_values',
])

function payloadOf({ record, raw }: Kept): unknown {
  return NOT_PARSED.has(record.problem) ? undefined : payloadIn(raw)
}

/** What cannot be read any more has no fields. */
function fieldsOf(kept: Kept): Record<string, unknown> {
  const payload = payloadOf(kept)
  return isRecord(payload) ? payload : {}
}

type ReportInTheMaking = InTheMaking<CommonFields & Partial<Omit<ReportFields, keyof CommonFields>>> & {
  scheduled?: boolean
  failure?: Failure
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
  // Each type has its own fields by now; what `shape` says of the payload is the sender's word, as its type says.
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
  const sent = begunSend(expectation)
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

function unrecognized(kept: Kept, data: unknown, problem: Problem): UnrecognizedEvent {
  const { kind } = kept.record
  const event = begin('unrecognized', kept, data)
  return Object.assign(event, defined({ kind }), { data, problem })
}
