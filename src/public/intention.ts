/** What is said of a send before it is made, and after: between whoever sends and the receiver that writes it down. Types only. */
import type { Failure, ReportType } from './events.ts'

/** What was sent: what a client answers, or made by hand. Contract, service.md#send-a-message. */
export interface SentMessages {
  /**
   * That of the send, where it was begun with `receiver.intend`: then its messages are written down as those of that send, and
   * `meta` is the one that it was begun with.
   */
  readonly reference?: string | undefined
  /** Default: now. */
  readonly sentAt?: Date | undefined
  /** The kind of the send, such as `transactional`. */
  readonly type?: string | undefined
  readonly channel?: string | undefined
  readonly campaign?: string | undefined
  /** Delivery was planned for then. */
  readonly scheduledFor?: Date | undefined
  /** Those that the service has taken. */
  readonly messages: readonly { readonly messageId: string; readonly to?: string | undefined }[]
  /** Where some were refused at once, those with the codes 12, 22 and 23 are counted. Contract, service.md#states-and-transitions. */
  readonly recipients?: readonly SentRecipient[] | undefined
}

/** An entry of the answer to a send. Contract, service.md#recipient-entry. */
export interface SentRecipient {
  readonly code?: number | undefined
  readonly to?: string | undefined
  readonly messageId?: string | undefined
  /** How many parts the message has. Default: nobody says. */
  readonly parts?: number | undefined
}

/** What `expect` did. */
export interface ExpectCounts {
  /** Messages that it had not been told of before. */
  readonly expected: number
  /** Messages that it knew; nothing changed for them. */
  readonly known: number
}

/** How a send is written down. */
export interface RecordOptions<M = unknown> {
  /**
   * Your own name for the send, at most 256 characters, such as the id of an order: a second send with it is refused. It is one of its
   * project. Default: a random UUID.
   */
  readonly reference?: string | undefined
  /** Your own small JSON, such as the id of an order: at most 4,096 bytes. */
  readonly meta?: M | undefined
  /** How long the end of each message may take before it is overdue, as for `expect`. Milliseconds. */
  readonly withinMs?: number | undefined
  /** After that it is of no use to send it again: for `resend`. */
  readonly notAfter?: Date | undefined
  /** The project's display name; needed where the receiver has several. */
  readonly project?: string | undefined
  /**
   * How long the answer may take before `send.unknown` is made of the send. Milliseconds; longer than all requests of the client
   * together. Default: 120,000.
   */
  readonly answerWithinMs?: number | undefined
}

/** What `intend` takes: the send that is about to be made. Contract, service.md#send-request-fields. */
export interface IntendOptions<M = unknown> extends RecordOptions<M> {
  /** The number, or the numbers. One is kept; of several only how many they are. */
  readonly to?: string | readonly string[] | undefined
  /** How many numbers it is to, where `to` is not given. Default: 1. */
  readonly recipients?: number | undefined
  /** The kind of the send, such as `transactional`. */
  readonly type?: string | undefined
  readonly channel?: string | undefined
  readonly campaign?: string | undefined
  /** Delivery is planned for then. */
  readonly scheduledFor?: Date | undefined
  /**
   * Premium SMS: how their reports name a message is not shown, so without the option `readReport` of the receiver no end is awaited.
   * Contract, service.md#premium-sms-callbacks.
   */
  readonly premium?: boolean | undefined
  /**
   * The id of a message that failed and is sent again by this: the account counts both as one. Its reference is made of that id, so
   * that no message is repeated twice.
   */
  readonly resendOf?: string | undefined
}

/** What `intendEach` takes beside its numbers: what the sends to all of them have in common. */
export interface IntendEachOptions<M = unknown> extends Omit<IntendOptions<M>, 'to' | 'recipients' | 'resendOf'> {}

/** A send that was written down and is to be made now. One of the three is to be called when it is known what came of it. */
export interface Intention {
  /** That of the send. */
  readonly reference: string
  /**
   * The service has answered: writes down each message and each refusal. An answer that names nobody is as `notSent`, and one of which no
   * entry has an id as `unknown`. It may be called again where it rejects, because the store is away.
   */
  sent(answer: SentMessages): Promise<ExpectCounts>
  /** Surely nothing was sent: the reference may be used again. */
  notSent(): Promise<void>
  /** It may have been sent: makes `send.unknown` now, instead of when `answerWithinMs` has passed. */
  unknown(): Promise<void>
}

/**
 * Sends that were written down, one for each number, and are to be made now, be it in one request. What one of the three says is of all
 * numbers in `to`; `sent` reads from the answer what became of each, and a number that it does not name is unknown.
 */
export interface EachIntention extends Intention {
  /** The numbers to send to. Those that are missing were sent to under this reference before, or are twice in the list. */
  readonly to: readonly string[]
}

/** As much of a receiver as a client uses. */
export interface SendRecorder<M = unknown> {
  /** `receiver.intend`. */
  intend(send?: IntendOptions<M>): Promise<Intention>
  /** `receiver.intendEach`. */
  intendEach(to: readonly string[], send?: IntendEachOptions<M>): Promise<EachIntention>
  /** `receiver.messageState`. */
  messageState(
    messageId: string,
    options?: { readonly project?: string | undefined },
  ): Promise<
    | {
        readonly type: ReportType
        readonly failure?: Failure
        readonly reports: readonly { readonly type: ReportType }[]
      }
    | undefined
  >
}
