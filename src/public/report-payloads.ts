/**
 * The bodies of the two delivery callbacks, field by field as in the contract's tables. They are unchecked: a field may be
 * missing or of another type. The event's own fields (`event.messageId`, `event.status`, `event.statusCode`, ...) are checked.
 * The `authKey` is removed.
 */

/** The shape of a report. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback. */
export const REPORT_SHAPES = ['sms', 'chat-app'] as const
/** The delivery callback in which a report arrived. */
export type ReportShape = (typeof REPORT_SHAPES)[number]

/** The payload of a report with `shape: 'sms'`, unchanged and unchecked. Contract, service.md#sms-delivery-callback. */
export interface SmsReportPayload {
  /** The project's name. */
  readonly project?: string
  /** The id from the response to the send. */
  readonly messageId?: string
  /** `sms` */
  readonly channel?: string
  /** The carrier's word. `event.type` and `event.failure` say what it means. */
  readonly status?: string
  /** The lowercase name of the carrier. */
  readonly network?: string
  /** `bulkDelivery` for bulk sends. */
  readonly type?: string
  /** Unix seconds. */
  readonly timestamp?: number
  /** The reason of carrier B's `failed`, as is `status_code`. The contract names both fields without a type. */
  readonly description?: unknown
  readonly status_code?: unknown
  /** Any other field. */
  readonly [field: string]: unknown
}

/**
 * The payload of a report with `shape: 'chat-app'`, unchanged and unchecked. Contract, service.md#chat-app-delivery-callback.
 */
export interface ChatAppReportPayload {
  /** The project's name. */
  readonly project?: string
  /** The lowercase name of the chat-app channel. */
  readonly channel?: string
  /** The sending number of the project. */
  readonly phone_number?: string
  /** The delivery state. */
  readonly statuses?: ChatAppStatuses
  /** Any other field. */
  readonly [field: string]: unknown
}

/** The delivery state in a chat-app callback, unchanged and unchecked. Contract, service.md#chat-app-delivery-callback. */
export interface ChatAppStatuses {
  /** The recipient's number. */
  readonly recipient?: string
  /** The id from the response to the send. */
  readonly message_id?: string
  /** `sent`, `delivered`, `read` or `failed`. */
  readonly status?: string
  /** `status` */
  readonly type?: string
  /** Present on successful changes of state, like the next two. */
  readonly conversation_id?: string
  /** Unix seconds, as a string. */
  readonly expiration_timestamp?: string
  /** The category of the conversation. */
  readonly category?: string
  /** The provider's reason for a failure, in place of the fields of the conversation. */
  readonly error?: string
  /** Any other field. */
  readonly [field: string]: unknown
}
