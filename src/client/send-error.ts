/** The error of a send, and what keeps keys, numbers and texts out of it. */
import type { SendErrorCode } from '../error-table.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Sent } from './sent.ts'

/** The error envelopes of the contract's table, by their fields. Contract, service.md#send-failures. */
export const ENVELOPES = [
  'messageData.message',
  'error',
  'MessageData.Error',
  'message, errors',
  'status, description',
  'data.message',
  'status, errorMessage',
  'message',
] as const
/** The envelope in which a send was refused. `message` alone is that of a request without a key. */
export type Envelope = (typeof ENVELOPES)[number]

/** What is known of a send that failed. */
export interface SendFailure {
  readonly mayBeSent: boolean
  readonly attempts: number
  readonly recipients: number
  readonly sentAt?: Date | undefined
  readonly status?: number | undefined
  readonly reason?: string | undefined
  readonly envelope?: Envelope | undefined
  readonly said?: string | undefined
  readonly errors?: Readonly<Record<string, readonly string[]>> | undefined
  readonly answer?: Sent | undefined
  readonly detail?: string | undefined
  readonly cause?: unknown
}

/**
 * A send that has no answer with recipients. `code` says why, `mayBeSent` whether the messages may go out all the same. Neither it nor
 * its message has the key, a number or a text of the send.
 */
export class SendError extends MessagingWebhooksError {
  override readonly name = 'SendError'
  declare readonly code: SendErrorCode
  /**
   * Whether the service may have taken the send. Where it is false, sending again sends nothing twice; where it is true, that is for you to
   * weigh, for the contract has no key by which the service would know a repetition.
   */
  readonly mayBeSent: boolean
  /** How many requests were made; all but the last did not reach the service. */
  readonly attempts: number
  /** How many numbers the send was to. */
  readonly recipients: number
  /** When the last request was made; undefined where none was. */
  readonly sentAt: Date | undefined
  /** The HTTP status of the answer, where at least its head came. */
  readonly status: number | undefined
  /** What the runtime calls the failure, as in `ECONNREFUSED`; `timeout` where `timeoutMs` passed. */
  readonly reason: string | undefined
  /** The form in which the service refused it. */
  readonly envelope: Envelope | undefined
  /** The service's own words, with the key, the numbers and the text of the send masked. Not enumerable, so that no log prints it. */
  declare readonly said: string | undefined
  /** Of `invalid`: what the service says of each field, masked likewise. Not enumerable. */
  declare readonly errors: Readonly<Record<string, readonly string[]>> | undefined
  /** Of `unrecorded`: what the service answered. Not enumerable: it has numbers. */
  declare readonly answer: Sent | undefined

  constructor(code: SendErrorCode, failure: SendFailure) {
    const { mayBeSent, attempts, recipients, sentAt, status, reason, envelope } = failure
    const { said, errors, answer, detail, cause } = failure
    super(code, detail, cause === undefined ? undefined : { cause })
    this.mayBeSent = mayBeSent
    this.attempts = attempts
    this.recipients = recipients
    this.sentAt = sentAt
    this.status = status
    this.reason = reason
    this.envelope = envelope
    Object.defineProperty(this, 'said', { value: said })
    Object.defineProperty(this, 'errors', { value: errors })
    Object.defineProperty(this, 'answer', { value: answer })
  }
}

const LONGEST_SAID = 500
/** Shorter ones would mask letters of any word. */
const SHORTEST_SECRET = 3

/** Replaces what must not be repeated, in texts of the service. */
export function maskOf(secrets: readonly string[]): (text: string) => string {
  const long = secrets.filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length)
  return (text) => {
    const masked = long.reduce((left, secret) => left.replaceAll(secret, '…'), text)
    return masked.length > LONGEST_SAID ? `${masked.slice(0, LONGEST_SAID)}…` : masked
  }
}
