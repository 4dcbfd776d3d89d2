/** The types of a send that the app records before or after its request. Types only. */
import type { DeliveryFailure, ReportType } from './events.ts'

/** A send that was made: the result of a client, or written by hand. Contract, service.md#send-a-message. */
export interface SentMessages {
  /**
   * The reference of a send recorded with `receiver.sends.intend`: its messages are recorded as part of that send, and keep its `meta`.
   */
  readonly reference?: string | undefined
  /** Default: now. */
  readonly sentAt?: Date | undefined
  /** The sender ID, if it is not the project's. */
  readonly from?: string | undefined
  /** The kind of the send, such as `transactional`. */
  readonly type?: string | undefined
  readonly channel?: string | undefined
  readonly campaign?: string | undefined
  /** The planned time of delivery. */
  readonly scheduledFor?: Date | undefined
  /** The messages that the service accepted. */
  readonly messages: readonly { readonly messageId: string; readonly to?: string | undefined }[]
  /** All entries of the response. Codes 12, 22 and 23 count as refused. Contract, service.md#states-and-transitions. */
  readonly recipients?: readonly SentRecipient[] | undefined
}

/** An entry of the response to a send. Contract, service.md#recipient-entry. */
export interface SentRecipient {
  readonly code?: number | undefined
  readonly to?: string | undefined
  readonly messageId?: string | undefined
  /** Number of parts of the message. Default: unknown. */
  readonly parts?: number | undefined
}

/** The result of `expect`. */
export interface ExpectCounts {
  /** Messages recorded now. */
  readonly expected: number
  /** Messages recorded before, left unchanged. */
  readonly known: number
}

/** How to record a send. */
export interface RecordOptions<M = unknown> {
  /**
   * Your name for the send, at most 256 characters, such as the id of an order. A second send of the project with it is
   * refused. Default: a random UUID.
   */
  readonly reference?: string | undefined
  /** Your own small JSON, such as the id of an order. At most 4,096 bytes. */
  readonly meta?: M | undefined
  /** Time until a message without an end is overdue, as for `expect`. Milliseconds. */
  readonly withinMs?: number | undefined
  /** `resend` does not send again after this time. */
  readonly notAfter?: Date | undefined
  /** The project's display name. Required if the receiver has several projects. */
  readonly project?: string | undefined
  /**
   * Time to wait for the response before `send.unknown` is created. Milliseconds; must exceed the duration of all requests of the
   * client together. Default: 120,000.
   */
  readonly answerWithinMs?: number | undefined
}

/** Options of `intend`: the send that is about to be made. Contract, service.md#send-request-fields. */
export interface IntendOptions<M = unknown> extends RecordOptions<M> {
  /** The number or numbers, each of which counts once. A single number is stored; of several, the count and digests. */
  readonly to?: string | readonly string[] | undefined
  /** Number of recipients if `to` is omitted. Default: 1. */
  readonly recipients?: number | undefined
  /** The sender ID, if it is not the project's. */
  readonly from?: string | undefined
  /** The kind of the send, such as `transactional`. */
  readonly type?: string | undefined
  readonly channel?: string | undefined
  readonly campaign?: string | undefined
  /** The planned time of delivery. */
  readonly scheduledFor?: Date | undefined
  /**
   * A premium SMS. The contract does not show how its reports name a message, so without the receiver option `readReport` no
   * final report is expected. Contract, service.md#premium-sms-callbacks.
   */
  readonly premium?: boolean | undefined
  /**
   * The id of a failed message that this send repeats: the account counts both as one. The reference is derived from that id,
   * so that no message is repeated twice.
   */
  readonly resendOf?: string | undefined
}

/** Options of `intendEach`, common to all recipients. */
export interface IntendEachOptions<M = unknown> extends Omit<IntendOptions<M>, 'to' | 'recipients' | 'resendOf'> {}

/** A recorded send that is about to be made. Call one of the three methods when its outcome is known. */
export interface Intention {
  /** Your `reference`, or the generated one. */
  readonly reference: string
  /**
   * Records each message and each refusal of the service's response. No report can name an accepted recipient without a message
   * id, so none is expected for it. A response without recipients counts as `notSent`, one that neither accepts nor refuses a
   * recipient as `unknown`. If it rejects because the store is unavailable, call it again.
   */
  sent(answer: SentMessages): Promise<ExpectCounts>
  /** Nothing was sent. The reference may be used again. */
  notSent(): Promise<void>
  /** The message may have been sent: creates `send.unknown` now, without waiting for `answerWithinMs`. */
  unknown(): Promise<void>
}

/**
 * Recorded sends, one per number, that are about to be made, possibly in one request. Each of the three methods applies to all
 * numbers in `to`. `sent` takes the outcome of each number from the response; a missing number is unknown.
 */
export interface EachIntention extends Intention {
  /** The numbers to send to. Excludes duplicates, and numbers that a list or a send with this reference went to before. */
  readonly to: readonly string[]
}

/** The part of a receiver that a client uses. */
export interface SendRecorder<M = unknown> {
  readonly sends: {
    /** `receiver.sends.intend`. */
    intend(send?: IntendOptions<M>): Promise<Intention>
    /** `receiver.sends.intendEach`. */
    intendEach(to: readonly string[], send?: IntendEachOptions<M>): Promise<EachIntention>
  }
  /** `receiver.messageState`. */
  messageState(
    messageId: string,
    options?: { readonly project?: string | undefined },
  ): Promise<
    | {
        readonly type: ReportType
        readonly failure?: DeliveryFailure
        readonly reports: readonly { readonly type: ReportType }[]
      }
    | undefined
  >
}
