/**
 * The terms of this package, each used in one sense. `docs/glossary.md` shows them as well:
 *
 * - callback: one POST of the messaging service; contract, service.md#events.
 * - event: the meaning of a verified callback; handlers receive events.
 * - message: what an app sent to one recipient, known by the service's `messageId`.
 * - report: an event about one outbound message (queued, sent, delivered, read, failed).
 * - status: the service's, a carrier's or a chat-app's word for what happened to a message.
 * - proof: evidence that the service sent a callback: the authKey, the signature, or both.
 * - refused: without a valid proof, answered 401, and kept in the quarantine.
 * - quarantine: refused requests, kept to be verified again when the credentials are right.
 * - identity: the idempotency key of an event, its `id`; two callbacks with the same identity are the same event.
 * - duplicate: a callback with a known identity; answered 204, and not dispatched again.
 * - anomaly: something unusual in a callback that could still be read.
 * - admission: storing a new event durably, before its callback is answered.
 * - store: keeps events until they are settled, and what is needed to recognise duplicates and to keep the order.
 * - record: all that a store keeps about one message, beside the payloads of its events.
 * - payload: the masked body of an event, and what was read from it.
 * - spool: a file on this machine's disk that holds callbacks while the store is unavailable.
 * - gap: an earlier chat-app state has not arrived, while a later one has, which waits (the reorder wait).
 * - final: a report that ends its message: delivered, read or failed, except a transient failure of a transactional send.
 * - expected: a sent message without a final report.
 * - overdue: expected for longer than allowed.
 * - pending send: a send that was recorded before its request, and becomes unknown if no outcome is recorded in time.
 * - late: a report older than a dispatched report of the same message.
 * - dispatched: given to handlers for the first time.
 * - attempt: one run of the handlers of an event.
 * - in flight: leased to this process, with handlers running or about to run.
 * - back-off: the growing wait between the attempts of an event.
 * - settled: finished, because every handler succeeded or the event became a dead letter, and recorded as such in the store.
 * - dead letter: an event that failed in every attempt or could not run, kept with its error.
 * - replay: a dead letter is due again, because someone asked for it.
 * - lease: the right to run the handlers of one message until a given time.
 * - token: the fencing token of a lease, which grows with each lease of a message, so that only the last one settles.
 * - worker: a process that has a shared store open and sends heartbeats; when they stop, its leases end early.
 * - retention: how long settled events, dead letters and identities are kept.
 * - erasure: removing what may identify a person, except identities.
 * - drain: to wait until nothing is left to dispatch.
 * - journal: the emulator's record of everything it received and sent.
 *
 * Names and types only; no logic.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ChatAppReportPayload, SmsReportPayload } from './report-payloads.ts'

/** The callback types of the contract, as arguments of `receiver.middleware(kind)`. Contract, service.md#events. */
export const CALLBACK_KINDS = ['status', 'received', 'payment', 'subscription'] as const
/** The callback type that a URL is registered for, as passed to `receiver.middleware(kind)`. */
export type CallbackKind = (typeof CALLBACK_KINDS)[number]

/** The five types of report, in the order of a message's life. */
export const REPORT_TYPES = [
  'message.queued',
  'message.sent',
  'message.delivered',
  'message.read',
  'message.failed',
] as const
/** The type of an event about one outbound message. */
export type ReportType = (typeof REPORT_TYPES)[number]

/** The types of premium callbacks. `other` covers every unlisted word. Contract, service.md#premium-sms-callbacks, #events. */
export const SUBSCRIPTION_WORDS = ['activate', 'deactivate', 'consent', 'delivery', 'billing', 'other'] as const
/** The type of a premium callback, as the option `subscriptionType` returns it. */
export type SubscriptionWord = (typeof SUBSCRIPTION_WORDS)[number]
type SubscriptionType = `subscription.${SubscriptionWord}`
export const SUBSCRIPTION_TYPES = SUBSCRIPTION_WORDS.map((word): SubscriptionType => `subscription.${word}`)

/** Every `type` that an event can have. */
export const EVENT_TYPES = [
  ...REPORT_TYPES,
  'send.overdue',
  'send.unknown',
  'late',
  'received',
  'payment',
  ...SUBSCRIPTION_TYPES,
  'unrecognized',
] as const
/** The `type` of an event. It determines the other fields of the event. */
export type EventType = (typeof EVENT_TYPES)[number]

/** The families in a pattern. `message.*` covers the reports. */
export const EVENT_FAMILIES = ['message.*', 'subscription.*'] as const

/** An argument of `receiver.on`: an event type or a family. */
export type EventPattern = EventType | (typeof EVENT_FAMILIES)[number]

/** The event types that a pattern covers. */
export type TypesOf<P extends EventPattern> = P extends `${infer F}.*`
  ? Extract<EventType, `${F}.${string}`>
  : Extract<P, EventType>

/** The proofs that were valid. `none` for `send.overdue` and `send.unknown`, which are not callbacks. */
export type EventProof = 'authKey' | 'signature' | 'both' | 'none'

/**
 * The source of an event's time: the payload's timestamp, the signature's `t`, or only the arrival of the callback. `clock`,
 * the receiver's own, for `send.overdue` and `send.unknown`, which are not callbacks.
 */
export type TimestampSource = 'payload' | 'signature' | 'arrival' | 'clock'

/** The two SMS carriers of the contract. Contract, service.md#sms-delivery-callback. */
export const CARRIERS = ['carrierA', 'carrierB'] as const
/** An SMS carrier, recognised by the option `networks` or by its words. */
export type Carrier = (typeof CARRIERS)[number]

/** The numeric codes of the contract; 20 is not listed. Contract, service.md#states-and-transitions. */
export const CODES = [11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23] as const
/** A numeric status code that the contract lists. */
export type StatusCode = (typeof CODES)[number]

/** The failure words of the code table, of carrier A, and `failed` of carrier B and the chat-app. */
export const FAILURE_CAUSES = [
  'network_failure',
  'delivery_impossible',
  'absent_subscriber',
  'unknown_error',
  'failed',
  'unsupported_number',
  'expired',
  'stopped_by_user',
  'stopped_by_admin',
  'delivery_failure',
  'insufficient_balance',
  'volume_limit',
  'carrier_word',
] as const
/** Why a message failed, in the contract's words. `carrier_word` stands for any other word of a carrier. */
export type FailureCause = (typeof FAILURE_CAUSES)[number]

/** Why a message failed, and whether to send it again. Contract, service.md#cross-channel-mapping. */
export interface DeliveryFailure {
  /** `transient` may resolve itself, `permanent` will not, `unreachable` means that the subscriber is absent. */
  readonly kind: 'transient' | 'permanent' | 'unreachable'
  /** The contract's recommendation: true for `network_failure` and `expired` (17) only. */
  readonly resend: boolean
  readonly cause: FailureCause
  /** The carrier's or provider's own text, if the callback has one. With `carrier_word`, at least that word. */
  readonly reason?: string
  /** The carrier's own failure code: the `status_code` of carrier B. */
  readonly code?: string
}

export const ANOMALIES = [
  'duplicate_key',
  'timestamp_in_milliseconds',
  'timestamp_out_of_range',
  'timestamp_unreadable',
  'inexact_id',
  'unknown_word',
  'carrier_number',
] as const
/** An anomaly of a callback that could still be read. */
export type CallbackAnomaly = (typeof ANOMALIES)[number]

const OTHER_KIND =
  'Another kind of callback may be registered at this URL: mount a middleware for each kind at a URL of its own.'
const CHANGED_ON_THE_WAY = 'A proxy may have changed it, or the sender uses an undocumented format.'

/** Why an authentic callback could not be read (the `problem` of an `unrecognized` event), and the likely cause or what to do. */
export const PROBLEMS = {
  empty_body: ['The body is empty.', 'A redirect or a proxy may have removed the body.'],
  content_encoding: [
    'The body is compressed; it is stored as sent.',
    'A proxy compresses requests: configure it to forward them unchanged.',
  ],
  not_json: ['The body is not JSON.', CHANGED_ON_THE_WAY],
  double_encoded: [
    'The body is JSON inside a JSON string.',
    'A component in front of the receiver wrapped the body: configure it to forward the bytes unchanged.',
  ],
  not_an_object: ['The body is JSON, but not an object.', CHANGED_ON_THE_WAY],
  too_deep: ['The body is nested more than 64 levels deep.', 'No documented callback is nested so deeply.'],
  too_many_values: ['The body has more than 10,000 values.', 'No documented callback has so many values.'],
  no_message_id: ['The message id is missing, blank or of the wrong type.', OTHER_KIND],
  no_status: ['The body has neither a status word nor a status code.', OTHER_KIND],
  unknown_status: [
    'Neither the status word nor the status code is in a table.',
    'The sender uses an undocumented word or code, or `networks` assigns its network to the wrong carrier.',
  ],
  several_statuses: [
    '`statuses` is a list instead of an object.',
    'The sender reports several states at once, which is undocumented.',
  ],
  unknown_shape: [
    'The body is not shaped like a delivery report, and the middleware has no kind.',
    'Name the kind of callbacks at this URL, for example with `receiver.middleware("payment")`.',
  ],
  kind_differs: ['The body is a delivery report, and the URL is of another kind.', OTHER_KIND],
  store_refused: [
    'The store refused the event, so only its bytes are stored.',
    'The store cannot hold a value of the payload: check its strings and numbers.',
  ],
  damaged: [
    'The stored event was corrupt; a dead letter keeps what is left of it.',
    'Check the disk of the store, and other programs that write to it.',
  ],
  schema_refused: [
    'Your schema refused the payload.',
    'Compare the fields in `paths` with your schema: the contract does not show them.',
  ],
  schema_failed: ['Your schema threw or timed out.', 'Fix the schema, or raise `handlerTimeoutMs`.'],
} as const
/** Why a callback is `unrecognized`: a key of `PROBLEMS`. */
export type CallbackProblem = keyof typeof PROBLEMS

/** Fields of every event. */
export interface CommonFields {
  /** The event's identity: equal for two callbacks with the same meaning. 32 hexadecimal digits. */
  readonly id: string
  /** The verified project. With a single credential without a project name, the project in the body. */
  readonly project: string | undefined
  /** When it happened. Undefined if only the arrival is known (`timestampSource` is `arrival`). */
  readonly occurredAt: Date | undefined
  /** `occurredAt` in Unix seconds. */
  readonly timestamp: number | undefined
  readonly timestampSource: TimestampSource
  /** When the callback arrived at this process. */
  readonly receivedAt: Date
  readonly proof: EventProof
  /** The parsed body without its authKey. */
  readonly payload: unknown
  /** The bytes of the body, with the authKey masked at equal length. Not enumerable, so it does not appear in logs or JSON. */
  readonly raw: Buffer
  /** Anomalies found while reading the callback. */
  readonly anomalies?: readonly CallbackAnomaly[]
}

/** Fields of the reports of both shapes. */
interface FieldsOfBothShapes<M> extends CommonFields {
  /** The id from the response to the send. */
  readonly messageId: string
  /** The channel in the callback: `sms`, the name of the chat-app, and so on. Absent if the callback has none. */
  readonly channel?: string
  /** The network in the callback. */
  readonly network?: string
  readonly carrier?: Carrier
  readonly recipient?: string
  /** The sender's own word. Absent if the callback has only a code. */
  readonly status?: string
  readonly statusCode?: StatusCode
  /** The record of the message, from `receiver.sends.expect` or `receiver.sends.intend`. Absent if there is none. */
  readonly sent?: SentDetails<M>
  /** A `send.overdue` event was created for this message before this report. */
  readonly wasOverdue?: true
}

interface SendFields<M> {
  /** The recipient. A pending send has it only if there is one recipient. */
  readonly to?: string
  /** The sender ID of the request. Absent if it was the project's. */
  readonly from?: string
  readonly type?: string
  readonly channel?: string
  readonly campaign?: string
  /** Your own data, after a round trip through JSON. Typed by `schemas.meta`. */
  readonly meta?: M
  /** For a pending send: the time just before its request. */
  readonly sentAt: Date
  readonly scheduledFor?: Date
  /** `resend` does not send again after this time. */
  readonly notAfter?: Date
  /** The failed message, if `resend` sends it again. */
  readonly resendOf?: string
  /** The number of this send, from 2 for the first repetition. Absent for the first send. */
  readonly attempt?: number
}

/** A sent message, as recorded with `receiver.sends.expect` or `receiver.sends.intend`. Contract, service.md#send-request-fields. */
export interface SentDetails<M = unknown> extends SendFields<M> {
  readonly messageId: string
  /** The reference of the send, if it was recorded with `receiver.sends.intend`. */
  readonly reference?: string
  /** Number of parts, if the response to the send listed several. Reports do not say which part they are about. */
  readonly parts?: number
  /** The message becomes overdue if it has not reached an end by this time. */
  readonly overdueAt: Date
}

/** A send without an outcome, as recorded with `receiver.sends.intend`. Contract, service.md#send-request-fields. */
export interface PendingSend<M = unknown> extends SendFields<M> {
  /** Your `reference`, or a generated one. */
  readonly reference: string
  /** Number of recipients. */
  readonly recipients: number
}

/** A report with its fields at the top of the body. Contract, service.md#sms-delivery-callback. */
export interface SmsReportFields<M = unknown> extends FieldsOfBothShapes<M> {
  readonly shape: 'sms'
  /** The parsed body without its authKey, unchanged. An empty object if the stored bytes are corrupt. */
  readonly payload: SmsReportPayload
}

/** A report in the object `statuses`. Contract, service.md#chat-app-delivery-callback. */
export interface ChatAppReportFields<M = unknown> extends FieldsOfBothShapes<M> {
  readonly shape: 'chat-app'
  /** The parsed body without its authKey, unchanged. An empty object if the stored bytes are corrupt. */
  readonly payload: ChatAppReportPayload
}

/** Fields of every report. `shape` determines the type of `payload`. */
export type ReportFields<M = unknown> = SmsReportFields<M> | ChatAppReportFields<M>

/** The service or the carrier accepted the message and has not sent it yet. */
export type QueuedEvent<M = unknown> = ReportFields<M> & {
  readonly type: 'message.queued'
  /** True for code 14: delivery is planned for later. */
  readonly scheduled: boolean
}
/** The chat-app accepted the message. */
export type SentEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.sent' }
/** The message reached the device. */
export type DeliveredEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.delivered' }
/** The recipient opened the message and has read receipts on. */
export type ReadEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.read' }
/** The message did not arrive. `failure` says why, and whether to send it again. */
export type FailedEvent<M = unknown> = ReportFields<M> & {
  readonly type: 'message.failed'
  readonly failure: DeliveryFailure
}
/** A report about one outbound message. */
export type ReportEvent<M = unknown> = QueuedEvent<M> | SentEvent<M> | DeliveredEvent<M> | ReadEvent<M> | FailedEvent<M>

/**
 * A message did not reach an end (delivered, read or finally failed) within the time given to `receiver.sends.expect`. The receiver
 * creates this event, once per message; it is not a callback.
 */
export interface OverdueEvent<M = unknown> extends CommonFields {
  readonly type: 'send.overdue'
  /** The id from the response to the send. */
  readonly messageId: string
  /** The channel of the send. */
  readonly channel?: string
  readonly proof: 'none'
  /** What the receiver stores about the send. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly sent: SentDetails<M>
}

/**
 * The outcome of a send is unknown: the process ended before the response, no response came, or the response could not be
 * recorded. The message may have been sent. The receiver creates this event, once per send; it is not a callback.
 */
export interface UnknownSendEvent<M = unknown> extends CommonFields {
  readonly type: 'send.unknown'
  /** The reference of the send. */
  readonly reference: string
  /** The channel of the send. */
  readonly channel?: string
  readonly proof: 'none'
  /** What the receiver stores about the send. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly sent: PendingSend<M>
}

/**
 * A report older than a dispatched report of its message: its timestamp is smaller, or equal with an earlier stage in the life
 * of a message. For chat-app reports only the stage counts.
 */
export interface LateEvent<M = unknown> extends CommonFields {
  readonly type: 'late'
  /** The message id and channel of the report. */
  readonly messageId: string
  readonly channel?: string
  /** The payload of the report. `report.shape` determines its fields. */
  readonly payload: SmsReportPayload | ChatAppReportPayload
  /** The event that the report would have been if it were on time. */
  readonly report: ReportEvent<M>
}

/** A payload without a schema. */
type Data = Record<string, unknown>

/** An event with a payload that the contract does not show. */
export interface DataEvent<T extends EventType, D> extends CommonFields {
  readonly type: T
  /** The payload after your schema, otherwise unchanged. Contract: "not shown". */
  readonly data: D
}

/** A customer sent you a message. */
export type ReceivedEvent<D = Data> = DataEvent<'received', D>
/** A mobile-money payment completed or failed. */
export type PaymentEvent<D = Data> = DataEvent<'payment', D>
/** A subscriber opted in. */
export type SubscriptionActivateEvent<D = Data> = DataEvent<'subscription.activate', D>
/** A subscriber opted out. */
export type SubscriptionDeactivateEvent<D = Data> = DataEvent<'subscription.deactivate', D>
/** The carrier recorded a consent. */
export type SubscriptionConsentEvent<D = Data> = DataEvent<'subscription.consent', D>
/** A delivery report of a premium message. */
export type SubscriptionDeliveryEvent<D = Data> = DataEvent<'subscription.delivery', D>
/** A subscriber was billed. */
export type SubscriptionBillingEvent<D = Data> = DataEvent<'subscription.billing', D>

/** A premium callback of an unknown type. */
export interface SubscriptionOtherEvent<D = Data> extends DataEvent<'subscription.other', D> {
  /** The sender's own word: the first string among `event`, `type`, `action` and `status`. */
  readonly word?: string
}

/** An authentic callback that could not be read. */
export interface UnrecognizedEvent extends CommonFields {
  readonly type: 'unrecognized'
  /** The kind of the middleware. */
  readonly kind?: CallbackKind
  readonly data: unknown
  readonly problem: CallbackProblem
  /**
   * For `schema_refused`: the fields that your schema refused, such as `data.amount`. At most ten, without values; `*` stands for a
   * key that may be a value itself.
   */
  readonly paths?: readonly string[]
}

/**
 * Your schemas for payloads that the contract does not show, and for your own `meta`: zod, valibot, arktype, any Standard
 * Schema.
 */
export interface CallbackSchemas extends Readonly<Partial<Record<SubscriptionType, StandardSchemaV1 | undefined>>> {
  readonly received?: StandardSchemaV1 | undefined
  readonly payment?: StandardSchemaV1 | undefined
  /** For premium callbacks without a schema of their own, such as `subscription.billing`. */
  readonly subscription?: StandardSchemaV1 | undefined
  /**
   * For the `meta` of your sends. It is checked before the send is recorded and stored unchanged: the output of the schema is
   * not used.
   */
  readonly meta?: StandardSchemaV1 | undefined
}

/** The type of `meta`: the input of `schemas.meta`, otherwise unknown. */
export type MetaOf<S extends CallbackSchemas> = S['meta'] extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S['meta']>
  : unknown

type DataOf<
  S extends CallbackSchemas,
  K extends keyof CallbackSchemas,
  Else extends keyof CallbackSchemas = K,
> = S[K] extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S[K]>
  : S[Else] extends StandardSchemaV1
    ? StandardSchemaV1.InferOutput<S[Else]>
    : Data

type SubscriptionEvents<S extends CallbackSchemas> = {
  [T in SubscriptionType]: T extends 'subscription.other'
    ? SubscriptionOtherEvent<DataOf<S, T, 'subscription'>>
    : DataEvent<T, DataOf<S, T, 'subscription'>>
}

/** The event of each type. Your schemas type the payloads. */
export interface EventMap<S extends CallbackSchemas = {}> extends SubscriptionEvents<S> {
  'message.queued': QueuedEvent<MetaOf<S>>
  'message.sent': SentEvent<MetaOf<S>>
  'message.delivered': DeliveredEvent<MetaOf<S>>
  'message.read': ReadEvent<MetaOf<S>>
  'message.failed': FailedEvent<MetaOf<S>>
  'send.overdue': OverdueEvent<MetaOf<S>>
  'send.unknown': UnknownSendEvent<MetaOf<S>>
  late: LateEvent<MetaOf<S>>
  received: ReceivedEvent<DataOf<S, 'received'>>
  payment: PaymentEvent<DataOf<S, 'payment'>>
  unrecognized: UnrecognizedEvent
}

/** Any event: a union that `type` discriminates. */
export type WebhookEvent<S extends CallbackSchemas = {}> = EventMap<S>[EventType]
