/** The answer to a send, as plain data. Contract, service.md#send-a-message, #recipient-entry. */
import type { StatusCode } from '../public/events.ts'

/** The type of a send. `transactional` is for one-time passwords and alerts; answers to other sends have `bulk`. */
export type SendType = 'transactional' | 'bulk' | (string & {})

/** Codes of accepted recipients: queued, queued at the carrier, or scheduled. */
export type AcceptedCode = Extract<StatusCode, 11 | 13 | 14>

/** Codes of refused recipients: number, balance, or volume limit. */
export type RefusedCode = Extract<StatusCode, 12 | 22 | 23>

interface RecipientFields {
  /** The number as the service writes it. Empty if the answer has none. */
  readonly to: string
  /** The service's word for the code. */
  readonly status: string
  /** Number of parts of the message. Default 1. */
  readonly parts: number
  /** The type of the send, in the service's words. */
  readonly type: string | undefined
}

/** A recipient whose message the service accepted. */
export interface AcceptedRecipient extends RecipientFields {
  readonly outcome: 'accepted'
  readonly code: AcceptedCode
  /** The id that callbacks carry. Undefined if the answer has none; then no report can be matched. */
  readonly messageId: string | undefined
}

/** A recipient to whom nothing is sent. */
export interface RefusedRecipient extends RecipientFields {
  readonly outcome: 'refused'
  readonly code: RefusedCode
  readonly messageId: string | undefined
}

/** A recipient with an unexpected code, or one that the answer does not name. The message may have been sent. */
export interface UnknownRecipient extends RecipientFields {
  readonly outcome: 'unknown'
  /** Undefined if it is not a whole number, or the answer does not name the recipient. */
  readonly code: number | undefined
  readonly messageId: string | undefined
}

/** A recipient of a send. Distinguish by `outcome` and `code`. The parts of a message are one recipient. */
export type Recipient = AcceptedRecipient | RefusedRecipient | UnknownRecipient

/** A message for which reports may arrive. */
export interface SentMessage {
  readonly messageId: string
  readonly to: string
}

/**
 * The answer to a send that accepted, or may have accepted, at least one recipient. It lists accepted and refused recipients.
 */
export interface Sent {
  /** `accepted` if every recipient was accepted, otherwise `partial`. If all are refused, the send rejects. */
  readonly kind: 'accepted' | 'partial'
  /** The reference under which the receiver recorded the send. Absent without a receiver. */
  readonly reference?: string
  /** Time of the request, by this machine's clock. */
  readonly sentAt: Date
  /** The requested type, else the type in the answer; `unknown` without either. */
  readonly type: SendType
  /** The channel of the request. */
  readonly channel?: string
  /** The campaign of the request. */
  readonly campaign?: string
  /** The delivery time of the request. */
  readonly scheduledFor?: Date
  /** Number of messages that the service reports. Undefined if it reports none. */
  readonly messageCount: number | undefined
  /** Messages for which reports may arrive: each accepted one once, and those with an unknown code. */
  readonly messages: readonly SentMessage[]
  /** Every recipient in the answer, in its order, then numbers that it does not name, as `unknown`. */
  readonly recipients: readonly Recipient[]
}
