/** What the answer to a send says, as plain data. Contract, service.md#send-a-message, #recipient-entry. */
import type { StatusCode } from '../public/events.ts'

/** The kind of a send. `transactional` is for one-time passwords and alerts, `bulk` stands in answers to others. */
export type SendType = 'transactional' | 'bulk' | (string & {})

/** The codes with which a recipient is accepted: queued, queued at the carrier, or scheduled. */
export type AcceptedCode = Extract<StatusCode, 11 | 13 | 14>

/** The codes with which a recipient is refused: the number, the balance, or the volume limit. */
export type RefusedCode = Extract<StatusCode, 12 | 22 | 23>

interface RecipientFields {
  /** The number, as the service writes it; an empty text where it names none. */
  readonly to: string
  /** The service's word for the code. */
  readonly status: string
  /** How many parts the message has, as far as the answer tells; 1 where it does not. */
  readonly parts: number
  /** The kind of the send, as the service calls it. */
  readonly type: string | undefined
}

/** A recipient whose message the service has taken. */
export interface AcceptedRecipient extends RecipientFields {
  readonly outcome: 'accepted'
  readonly code: AcceptedCode
  /** The id that callbacks carry; undefined where the answer has none, so that no report can be matched. */
  readonly messageId: string | undefined
}

/** A recipient to whom nothing is sent. */
export interface RefusedRecipient extends RecipientFields {
  readonly outcome: 'refused'
  readonly code: RefusedCode
  readonly messageId: string | undefined
}

/** A recipient with a code that the contract does not have for answers, or that the answer does not name: it may have been sent. */
export interface UnknownRecipient extends RecipientFields {
  readonly outcome: 'unknown'
  /** Undefined where it is no whole number, or the answer does not name the recipient. */
  readonly code: number | undefined
  readonly messageId: string | undefined
}

/** One recipient of a send, told apart by `outcome` and `code`. The parts of a message are one recipient. */
export type Recipient = AcceptedRecipient | RefusedRecipient | UnknownRecipient

/** A message that reports may come of. */
export interface SentMessage {
  readonly messageId: string
  readonly to: string
}

/** The answer to a send of which at least one recipient was accepted, or may have been. What was accepted is never hidden by what was refused. */
export interface Sent {
  /** `accepted` where every recipient is, else `partial`. Where every one is refused, the send rejects. */
  readonly kind: 'accepted' | 'partial'
  /** That under which the receiver has written it down; absent where none has. */
  readonly reference?: string
  /** When the request was made, by this machine's clock. */
  readonly sentAt: Date
  /** As it was asked for, else as the answer says; `unknown` where neither says. */
  readonly type: SendType
  /** As it was asked for. */
  readonly channel?: string
  /** As it was asked for. */
  readonly campaign?: string
  /** As it was asked for. */
  readonly scheduledFor?: Date
  /** The number of messages that the service says it took; undefined where it says none. */
  readonly messageCount: number | undefined
  /** The messages that reports may come of: each accepted one once, and those with an unknown code. */
  readonly messages: readonly SentMessage[]
  /** Every recipient that the answer names, in its order; then the numbers that it does not name, as `unknown`. */
  readonly recipients: readonly Recipient[]
}
