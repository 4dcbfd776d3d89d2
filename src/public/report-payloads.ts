/**
 * The bodies of the two delivery callbacks, field by field as the contract's tables list them. They are what the sender
 * says, and nobody has checked them: a field may be missing, or of another type. What is checked are the event's own
 * fields (`event.messageId`, `event.status`, `event.statusCode`, ...). There is no `authKey`: it is cut out.
 */

/** Which of the two it is. Contract, service.md#sms-delivery-callback, #chat-app-delivery-callback. */
export const REPORT_SHAPES = ['sms', 'chat-app'] as const
/** Which of the two delivery callbacks a report came in. */
export type ReportShape = (typeof REPORT_SHAPES)[number]

/** The payload of a report with `shape: 'sms'`: as sent, and unchecked. Contract, service.md#sms-delivery-callback. */
export interface SmsReportPayload {
  /** The project's name. */
  readonly project?: string
  /** The id that the send response gave. */
  readonly messageId?: string
  /** `sms` */
  readonly channel?: string
  /** The carrier's word; `event.type` and `event.failure` say what it means. */
  readonly status?: string
  /** The lowercase name of the carrier. */
  readonly network?: string
  /** `bulkDelivery` for bulk sends. */
  readonly type?: string
  /** Unix seconds. */
  readonly timestamp?: number
  /** The reason of carrier B's `failed`, as `status_code` may be; the contract names both fields and shows no type. */
  readonly description?: unknown
  readonly status_code?: unknown
  /** Whatever else the sender says. */
  readonly [field: string]: unknown
}

/** The payload of a report with `shape: 'chat-app'`: as sent, and unchecked. Contract, service.md#chat-app-delivery-callback. */
export interface ChatAppReportPayload {
  /** The project's name. */
  readonly project?: string
  /** The lowercase name of the chat-app channel. */
  readonly channel?: string
  /** The sending number of the project. */
  readonly phone_number?: string
  /** The delivery state. */
  readonly statuses?: ChatAppStatuses
  /** Whatever else the sender says. */
  readonly [field: string]: unknown
}

/** The delivery state in a chat-app callback: as sent, and unchecked. Contract, service.md#chat-app-delivery-callback. */
export interface ChatAppStatuses {
  /** The recipient's number. */
  readonly recipient?: string
  /** The id that the send response gave. */
  readonly message_id?: string
  /** `sent`, `delivered`, `read` or `failed`. */
  readonly status?: string
  /** `status` */
  readonly type?: string
  /** Present on successful changes of state, as the next two are. */
  readonly conversation_id?: string
  /** Unix seconds, as text. */
  readonly expiration_timestamp?: string
  /** The category of the conversation. */
  readonly category?: string
  /** Of a failure, in place of the conversation's fields: the provider's reason. */
  readonly error?: string
  /** Whatever else the sender says. */
  readonly [field: string]: unknown
}
