/** The error of a send. Masks keys, numbers and texts. */
import type { SendErrorCode } from '../public/error-table.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Sent } from './sent.ts'

/** The error envelopes of the contract, by their fields. Contract, service.md#send-failures. */
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
/** The envelope of a refusal. `message` alone answers a request without a key. */
export type Envelope = (typeof ENVELOPES)[number]

/** Data about a failed send: the fields of its error. */
export interface SendFailure
  extends
    Pick<SendError, 'mayBeSent' | 'attempts' | 'recipients'>,
    Partial<Pick<SendError, 'sentAt' | 'status' | 'reason' | 'envelope' | 'said' | 'errors' | 'answer' | 'detail'>> {
  readonly cause?: unknown
}

/**
 * A send that accepted no recipient. `code` is the reason; `mayBeSent` tells whether messages may have been sent nevertheless.
 * Contains no key, number or text of the send.
 */
export class SendError extends MessagingWebhooksError {
  override readonly name = 'SendError'
  declare readonly code: SendErrorCode
  /**
   * Whether the service may have accepted the send. If false, sending again cannot send twice. If true, it may: the contract
   * shows no idempotency key.
   */
  readonly mayBeSent: boolean
  /** Number of requests. All but the last did not reach the service. */
  readonly attempts: number
  /** Number of recipients of the send. */
  readonly recipients: number
  /** Time of the last request. Undefined if there was none. */
  readonly sentAt: Date | undefined
  /** HTTP status of the answer, if its head arrived. */
  readonly status: number | undefined
  /** The runtime's name for the failure, such as `ECONNREFUSED`; `timeout` after `timeoutMs`. */
  readonly reason: string | undefined
  /** The envelope of the refusal. */
  readonly envelope: Envelope | undefined
  /**
   * The service's own text, masked. It contains no key, number or text of the send. Not enumerable, so that logs do not print it.
   */
  declare readonly said: string | undefined
  /** For `invalid`: the service's errors by field, masked. Not enumerable. */
  declare readonly errors: Readonly<Record<string, readonly string[]>> | undefined
  /** The answer, if it names recipients. Not enumerable, because it contains numbers. */
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

/** Wraps any other error: it occurred before the request, such as a key that no header can carry, or an unavailable store. */
export function asSendError(error: unknown, recipients: number): SendError {
  if (error instanceof SendError) return error
  const detail = error instanceof MessagingWebhooksError ? error.detail : undefined
  return new SendError('not_sent', { mayBeSent: false, attempts: 0, recipients, detail, cause: error })
}

const LONGEST_SAID = 500
/** Maximum length of the service's text that is read. */
const LONGEST_READ = 16_384
/** Masking shorter secrets would mask parts of ordinary words. */
const SHORTEST_SECRET = 3
/** A one-time password in the text. The service may quote only this part. */
const CODE = /\d{4,}/g

/** Masks the values in any encoding that a request may use. */
export function maskOf(apiKey: string, numbers: readonly string[], text = ''): (said: string) => string {
  const digits = numbers.map((number) => number.replace(/^\+/, ''))
  const secrets = new Set([...formsOf(apiKey), ...formsOf(text), ...digits, ...(text.match(CODE) ?? [])])
  const long = [...secrets].filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length)
  const longest = long[0]?.length ?? 0
  return (said) => {
    const masked = long.reduce((left, secret) => left.replaceAll(secret, '…'), said.slice(0, LONGEST_READ))
    // The cut may split a secret, so drop its possible beginning.
    const whole = said.length > LONGEST_READ ? masked.slice(0, Math.max(0, masked.length - longest)) : masked
    return whole.length > LONGEST_SAID || whole.length < masked.length ? `${whole.slice(0, LONGEST_SAID)}…` : whole
  }
}

/** The text, and its encodings in URLs, forms and JSON. */
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
