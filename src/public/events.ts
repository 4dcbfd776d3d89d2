/**
 * The words of this package, each used in one sense:
 *
 * - callback: one POST of the messaging service; contract, service.md#events.
 * - event: what a callback means, once verified and read; what handlers get.
 * - report: an event about one outbound message (queued, sent, delivered, read, failed).
 * - proof: what shows that the service sent a callback: the authKey, the signature, or both.
 * - identity: what makes two callbacks the same event; the event's `id`.
 * - gap: an earlier chat-app state that has not arrived while a later one has.
 * - expected: of a message that was sent, and whose end is awaited.
 * - overdue: expected, without an end for too long.
 * - begun: of a send that was written down before it was made; it is unknown where nothing says what came of it.
 * - late: a report older than one of the same message that was already handed over.
 * - handed over: given to handlers for the first time.
 * - settled: done with for good: every handler succeeded, or the event became a dead letter. To settle is to tell the store
 *   what became of an attempt.
 * - dead letter: an event whose handlers failed in every attempt; kept with its error.
 * - lease: the right to run one message's handlers until a moment in time.
 * - release: to give back what one holds: a lease, a lock, a connection, room.
 * - holder: a process that has a shared store open. It shows life at a steady beat; what one holds that was silent for too long is due
 *   again.
 * - drain: to wait until nothing is left to hand over. A spool is emptied.
 * - journal: what the emulator keeps of all that it was sent and has sent. What a process appends to on a disk is a log.
 *
 * Names and types only; no logic.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ChatAppReportPayload, SmsReportPayload } from './report-payloads.ts'

/** The callback types of the contract, as `receiver.middleware(kind)` takes them. Contract, service.md#events. */
export const CALLBACK_KINDS = ['status', 'received', 'payment', 'subscription'] as const
/** One of the kinds of callback. */
export type CallbackKind = (typeof CALLBACK_KINDS)[number]

/** The five kinds of report, in the order of a message's life. */
export const REPORT_TYPES = [
  'message.queued',
  'message.sent',
  'message.delivered',
  'message.read',
  'message.failed',
] as const
/** The type of a report. */
export type ReportType = (typeof REPORT_TYPES)[number]

/** What a premium callback can be; `other` is whatever else the sender says. Contract, service.md#premium-sms-callbacks, #events. */
export const SUBSCRIPTION_WORDS = ['activate', 'deactivate', 'consent', 'delivery', 'billing', 'other'] as const
/** What a premium callback is. */
export type SubscriptionWord = (typeof SUBSCRIPTION_WORDS)[number]
type SubscriptionType = `subscription.${SubscriptionWord}`
/** The event types of premium callbacks. */
export const SUBSCRIPTION_TYPES = SUBSCRIPTION_WORDS.map((word): SubscriptionType => `subscription.${word}`)

/** Every event type there is. */
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
/** The type of an event. */
export type EventType = (typeof EVENT_TYPES)[number]

/** The families that a pattern can name; `message.*` are the reports. */
export const EVENT_FAMILIES = ['message.*', 'subscription.*'] as const

/** What `receiver.on` takes: an event type, or a family of them. */
export type Pattern = EventType | (typeof EVENT_FAMILIES)[number]

/** The event types that a pattern stands for. */
export type TypesOf<P extends Pattern> = P extends `${infer F}.*`
  ? Extract<EventType, `${F}.${string}`>
  : Extract<P, EventType>

/** Which proofs held; `none` of what is no callback, `send.overdue` and `send.unknown`. */
export type Proof = 'authKey' | 'signature' | 'both' | 'none'

/**
 * What tells an event's time: the payload's own timestamp, the signature's `t`, or the callback's arrival alone; the receiver's
 * own `clock` for what is no callback, `send.overdue` and `send.unknown`.
 */
export type TimestampSource = 'payload' | 'signature' | 'arrival' | 'clock'

/** The two SMS carriers of the contract. Contract, service.md#sms-delivery-callback. */
export const CARRIERS = ['carrierA', 'carrierB'] as const
/** One of the carriers. */
export type Carrier = (typeof CARRIERS)[number]

/** The numeric codes of the contract; 20 is not listed. Contract, service.md#states-and-transitions. */
export const CODES = [11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23] as const
/** One of the service’s status codes. */
export type StatusCode = (typeof CODES)[number]

/**
 * The contract's own words for a failure: those of the code table, of carrier A, and `failed` of carrier B and the chat-app.
 * `carrier_word` stands for every other word of a carrier.
 */
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
/** Why a message failed. */
export type FailureCause = (typeof FAILURE_CAUSES)[number]

/** Why a message failed, and what to do about it. Contract, service.md#cross-channel-mapping. */
export interface Failure {
  /** `transient` may go away by itself, `permanent` will not, `unreachable` means the subscriber is absent. */
  readonly kind: 'transient' | 'permanent' | 'unreachable'
  /** The contract's recommendation: true for `network_failure` and `expired` (17) only. */
  readonly resend: boolean
  readonly cause: FailureCause
  /** The carrier's or provider's own words, where the callback has them; with `carrier_word` at least that word. */
  readonly reason?: string
  /** The carrier's own code of the failure: the `status_code` of carrier B. */
  readonly code?: string
}

/** What was odd about a callback that could be read all the same. */
export type Oddity =
  | 'duplicate_key'
  | 'timestamp_in_milliseconds'
  | 'timestamp_out_of_range'
  | 'timestamp_unreadable'
  | 'inexact_id'
  | 'unknown_word'

/** Why an authentic callback could not be read; the `problem` of an `unrecognized` event. */
export const PROBLEMS = {
  empty_body: 'the body is empty',
  content_encoding: 'the body is compressed; it is kept as it was sent and not unpacked',
  not_json: 'the body is not JSON',
  double_encoded: 'the body is JSON inside a JSON string',
  not_an_object: 'the body is JSON, but not an object',
  too_deep: 'the body is nested more than 64 levels deep',
  too_many_values: 'the body has more than 10,000 values',
  no_message_id: 'there is no message id, or it is blank or of the wrong type',
  no_status: 'there is neither a status word nor a status code',
  unknown_status: 'neither the word nor the code of the status is in any table',
  several_statuses: '`statuses` is a list, where the contract has one object',
  unknown_shape: 'the body has the shape of no delivery report, and the middleware was mounted without a kind',
  store_refused: 'the store refused the event as it was read, so only its bytes are kept',
  damaged: 'what the store held of the event was damaged; what is left of it is a dead letter',
  schema_refused: 'your schema refused the payload',
  schema_failed: 'your schema threw, or did not answer in time',
} as const
/** Why a callback is `unrecognized`. */
export type Problem = keyof typeof PROBLEMS

/** What every event has. */
export interface CommonFields {
  /** The event's identity: equal for two callbacks that mean the same. 32 hexadecimal digits. */
  readonly id: string
  /** The project that was proved; with one unnamed pair of credentials, the one that the body names. */
  readonly project: string | undefined
  /** When it happened; undefined where nothing tells, so that `timestampSource` is `arrival`. */
  readonly occurredAt: Date | undefined
  /** The same in Unix seconds. */
  readonly timestamp: number | undefined
  readonly timestampSource: TimestampSource
  /** When the callback reached this process. */
  readonly receivedAt: Date
  readonly proof: Proof
  /** The parsed body without its authKey. */
  readonly payload: unknown
  /** The body's bytes with the authKey masked at equal length. Not enumerable: it does not show up in logs or JSON. */
  readonly raw: Buffer
  /** What was odd about the callback, if anything. */
  readonly oddities?: readonly Oddity[]
}

/** What the reports of both shapes have beside the common fields. */
interface FieldsOfBothShapes<M> extends CommonFields {
  /** The id that the send response gave. */
  readonly messageId: string
  /** The channel as the callback names it: `sms`, the chat-app's name, ...; absent where it names none. */
  readonly channel?: string
  /** The network as the callback names it. */
  readonly network?: string
  readonly carrier?: Carrier
  readonly recipient?: string
  /** The sender's own word; absent where it gave only a code. */
  readonly status?: string
  readonly statusCode?: StatusCode
  /** What `receiver.expect` was told of the message; absent where it was told nothing. */
  readonly sent?: SentDetails<M>
  /** `send.overdue` was made of the message before this report. */
  readonly wasOverdue?: true
}

/** What the app said of a send. */
interface SendFields<M> {
  /** The recipient; of a send that was begun, where it is to one. */
  readonly to?: string
  readonly type?: string
  readonly channel?: string
  readonly campaign?: string
  /** Your own, as JSON gives it back; typed by `schemas.meta`. */
  readonly meta?: M
  /** Of a send that was begun: just before its request. */
  readonly sentAt: Date
  readonly scheduledFor?: Date
  /** After that it is of no use to send it again. */
  readonly notAfter?: Date
  /** The message that failed, where this is its repetition by `resend`. */
  readonly resendOf?: string
  /** Which send of it this is, where it is not the first: 2 for the first repetition. */
  readonly attempt?: number
}

/** What is known of a message from its send on, as `receiver.expect` was told it. Contract, service.md#send-request-fields. */
export interface SentDetails<M = unknown> extends SendFields<M> {
  readonly messageId: string
  /** That of the send, where it was begun with `receiver.intend` or a `sender`. */
  readonly reference?: string
  /** How many parts it has, where the answer to the send told of several; no report says of which part it is. */
  readonly parts?: number
  /** Without an end by then it is overdue. */
  readonly overdueAt: Date
}

/** What is known of a send that was begun, as `receiver.intend` was told it. Contract, service.md#send-request-fields. */
export interface BegunSend<M = unknown> extends SendFields<M> {
  /** Yours, or one that was made for it. */
  readonly reference: string
  /** How many numbers it was to. */
  readonly recipients: number
}

/** A report with its fields at the top of the body. Contract, service.md#sms-delivery-callback. */
export interface SmsReportFields<M = unknown> extends FieldsOfBothShapes<M> {
  readonly shape: 'sms'
  /** The parsed body without its authKey, as sent; an empty object where the kept bytes were damaged. */
  readonly payload: SmsReportPayload
}

/** A report in the one object `statuses`. Contract, service.md#chat-app-delivery-callback. */
export interface ChatAppReportFields<M = unknown> extends FieldsOfBothShapes<M> {
  readonly shape: 'chat-app'
  /** The parsed body without its authKey, as sent; an empty object where the kept bytes were damaged. */
  readonly payload: ChatAppReportPayload
}

/** What every report has beside the common fields; `shape` tells the type of `payload`. */
export type ReportFields<M = unknown> = SmsReportFields<M> | ChatAppReportFields<M>

/** The service or the carrier has taken the message, and has not sent it yet. */
export type QueuedEvent<M = unknown> = ReportFields<M> & {
  readonly type: 'message.queued'
  /** True for code 14: delivery is planned for later. */
  readonly scheduled: boolean
}
/** The chat-app has taken the message over. */
export type SentEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.sent' }
/** The message reached the device. */
export type DeliveredEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.delivered' }
/** The recipient opened the message, and lets senders know. */
export type ReadEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.read' }
/** The message did not arrive; `failure` says why, and whether to send it again. */
export type FailedEvent<M = unknown> = ReportFields<M> & { readonly type: 'message.failed'; readonly failure: Failure }
/** A report about one outbound message. */
export type ReportEvent<M = unknown> = QueuedEvent<M> | SentEvent<M> | DeliveredEvent<M> | ReadEvent<M> | FailedEvent<M>

/**
 * No end of a message was reported by the time that `receiver.expect` was given: neither delivered, nor read, nor failed for
 * good. No callback brings it: the receiver makes it, once for each message.
 */
export interface OverdueEvent<M = unknown> extends CommonFields {
  readonly type: 'send.overdue'
  /** The id that the send response gave. */
  readonly messageId: string
  /** The channel as it was sent by. */
  readonly channel?: string
  readonly proof: 'none'
  /** What the receiver keeps of the send. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly sent: SentDetails<M>
}

/**
 * A send was begun, and nothing is known of its answer: the process ended in between, no answer came, or it could not be written
 * down. It may have been sent. No callback brings it: the receiver makes it, once for each send.
 */
export interface UnknownSendEvent<M = unknown> extends CommonFields {
  readonly type: 'send.unknown'
  /** That of the send. */
  readonly reference: string
  /** The channel as it was to be sent by. */
  readonly channel?: string
  readonly proof: 'none'
  /** What the receiver keeps of the send. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly sent: BegunSend<M>
}

/**
 * A report older than one of its message that was already handed over, with `ordering.late: 'separate'`: its timestamp is
 * smaller, or equal and its place in the life of a message is earlier. For chat-app reports only that place counts.
 */
export interface LateEvent<M = unknown> extends CommonFields {
  readonly type: 'late'
  /** The id that the send response gave, and the channel as the callback names it: those of the report. */
  readonly messageId: string
  readonly channel?: string
  /** That of the report; `report.shape` tells its fields. */
  readonly payload: SmsReportPayload | ChatAppReportPayload
  /** The report as it would have come in time. */
  readonly report: ReportEvent<M>
}

export interface DataEvent<T extends EventType, D> extends CommonFields {
  readonly type: T
  /** The payload as your schema gives it, else as it came. Contract: "not shown". */
  readonly data: D
}

/** A premium callback of no type that is known. */
export interface OtherSubscriptionEvent<D> extends DataEvent<'subscription.other', D> {
  /** The sender's own word: the first of `event`, `type`, `action` and `status` that is a text. */
  readonly word?: string
}

export interface UnrecognizedEvent extends CommonFields {
  readonly type: 'unrecognized'
  /** The kind that the middleware was mounted with. */
  readonly kind?: CallbackKind
  readonly data: unknown
  readonly problem: Problem
}

/** Your schemas for the payloads that the contract does not show, and for your own `meta`: zod, valibot, arktype, any Standard Schema. */
export interface Schemas extends Readonly<Partial<Record<SubscriptionType, StandardSchemaV1 | undefined>>> {
  readonly received?: StandardSchemaV1 | undefined
  readonly payment?: StandardSchemaV1 | undefined
  /** For each premium callback that has none of its own: `subscription.billing` and so on. */
  readonly subscription?: StandardSchemaV1 | undefined
  /**
   * For the `meta` of what you send: it is checked before the send is recorded, and kept as it was given, so what the schema makes of it
   * does not count.
   */
  readonly meta?: StandardSchemaV1 | undefined
}

/** The type of `meta`: what `schemas.meta` takes, else unknown. */
export type MetaOf<S extends Schemas> = S['meta'] extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S['meta']>
  : unknown

type DataOf<S extends Schemas, K extends keyof Schemas, Else extends keyof Schemas = K> = S[K] extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S[K]>
  : S[Else] extends StandardSchemaV1
    ? StandardSchemaV1.InferOutput<S[Else]>
    : Record<string, unknown>

type SubscriptionEvents<S extends Schemas> = {
  [T in SubscriptionType]: T extends 'subscription.other'
    ? OtherSubscriptionEvent<DataOf<S, T, 'subscription'>>
    : DataEvent<T, DataOf<S, T, 'subscription'>>
}

/** Each event type with its event, the payloads typed by your schemas. */
export interface EventMap<S extends Schemas = {}> extends SubscriptionEvents<S> {
  'message.queued': QueuedEvent<MetaOf<S>>
  'message.sent': SentEvent<MetaOf<S>>
  'message.delivered': DeliveredEvent<MetaOf<S>>
  'message.read': ReadEvent<MetaOf<S>>
  'message.failed': FailedEvent<MetaOf<S>>
  'send.overdue': OverdueEvent<MetaOf<S>>
  'send.unknown': UnknownSendEvent<MetaOf<S>>
  late: LateEvent<MetaOf<S>>
  received: DataEvent<'received', DataOf<S, 'received'>>
  payment: DataEvent<'payment', DataOf<S, 'payment'>>
  unrecognized: UnrecognizedEvent
}

/** Any event. */
export type WebhookEvent<S extends Schemas = {}> = EventMap<S>[EventType]

/** The `node:diagnostics_channel` on which a receiver says what it handed over; it costs nothing while nobody listens. */
export const HANDED_OVER_CHANNEL = 'messaging-webhooks:handed-over'

/** What is published there when an attempt at an event is over; `S` are the schemas of the receiver, which type the event. */
export interface HandedOver<S extends Schemas = {}> {
  /** What `createReceiver` returned. */
  readonly receiver: object
  readonly event: WebhookEvent<S>
  /** Every handler has succeeded, in this attempt or before. */
  readonly succeeded: boolean
}
