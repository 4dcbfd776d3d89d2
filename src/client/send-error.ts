/** The error of a send, and what keeps keys, numbers and texts out of it. */
import type { SendErrorCode } from '../public/error-table.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
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
 * A send of which no recipient was accepted. `code` says why, `mayBeSent` whether the messages may go out all the same. Neither it nor
 * its message has the key, a number or a text of the send.
 */
export class SendError extends MessagingWebhooksError {
  override readonly name = 'SendError'
  declare readonly code: SendErrorCode
  /**
   * Whether the service may have taken the send. Where it is false, sending again sends nothing twice; where it is true, that is for you to
   * weigh, for the contract shows no key by which the service would know a repetition.
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
  /** What the service answered, where its answer names recipients. Not enumerable: it has numbers. */
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

/** What is no error of a send came before it: a key that no header can carry, a store that is away. */
export function asSendError(error: unknown, recipients: number): SendError {
  if (error instanceof SendError) return error
  const detail = error instanceof MessagingWebhooksError ? error.detail : undefined
  return new SendError('not_sent', { mayBeSent: false, attempts: 0, recipients, detail, cause: error })
}

const LONGEST_SAID = 500
/** As much of what the service says is looked at. */
const LONGEST_READ = 16_384
/** Shorter ones would mask letters of any word. */
const SHORTEST_SECRET = 3
/** A one-time password in a text, of which the service may quote only a part. */
const CODE = /\d{4,}/g

/** What must not be repeated. */
interface Secrets {
  readonly apiKey: string
  readonly numbers: readonly string[]
  readonly text: string | undefined
}

/** Replaces it in texts of the service, in whatever form a request had it. */
export function maskOf({ apiKey, numbers, text = '' }: Secrets): (said: string) => string {
  const digits = numbers.map((number) => number.replace(/^\+/, ''))
  const secrets = new Set([...formsOf(apiKey), ...formsOf(text), ...digits, ...(text.match(CODE) ?? [])])
  const long = [...secrets].filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length)
  const longest = long[0]?.length ?? 0
  return (said) => {
    const masked = long.reduce((left, secret) => left.replaceAll(secret, '…'), said.slice(0, LONGEST_READ))
    // Where it is cut, the beginning of a secret may be left.
    const whole = said.length > LONGEST_READ ? masked.slice(0, Math.max(0, masked.length - longest)) : masked
    return whole.length > LONGEST_SAID || whole.length < masked.length ? `${whole.slice(0, LONGEST_SAID)}…` : whole
  }
}

/** As it is, and as URLs, forms and JSON have it. */
function formsOf(text: string): readonly string[] {
  const well = text.toWellFormed()
  const form = new URLSearchParams({ text: well }).toString().slice('text='.length)
  const json = JSON.stringify(text).slice(1, -1)
  const [small, large] = [ascii(json, false), ascii(json, true)]
  const urls = [encodeURIComponent(well), form]
  return [
    text,
    ...urls,
    ...urls.map((url) => url.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())),
    ...[json, small, large].flatMap((each) => [each, each.replaceAll('/', '\\/')]),
  ]
}

function ascii(json: string, inCapitals: boolean): string {
  return json.replaceAll(/[\u0080-\uffff]/g, (character) => {
    const hex = character.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${inCapitals ? hex.toUpperCase() : hex}`
  })
}
