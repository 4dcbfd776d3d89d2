/** The errors themselves, each with a code of the table. */
import {
  ERRORS,
  ERRORS_PAGE,
  REFUSED,
  UNAVAILABLE,
  type ErrorCode,
  type HandlerErrorCode,
  type RefusalCode,
} from './error-table.ts'

/**
 * What every error of this package is. Its message says what happened, what to do and where to read on; never a secret or a
 * body.
 */
export class MessagingWebhooksError extends Error {
  override readonly name: string = 'MessagingWebhooksError'
  readonly code: ErrorCode
  /** What was measured in this case, where anything was: the middle of the message. */
  readonly detail: string | undefined

  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions) {
    const [happened, todo] = ERRORS[code]
    const said = detail === undefined ? `${happened} ${todo}` : `${happened} ${detail} ${todo}`
    super(`${said} See ${ERRORS_PAGE}#${code}`, options)
    this.code = code
    this.detail = detail
  }
}

/**
 * Whether it is an error of this package. Functions of users throw anything, a proxy too, which throws in its turn when it
 * is asked what it is.
 */
export function isOurs(error: unknown): error is MessagingWebhooksError {
  try {
    return error instanceof MessagingWebhooksError && Object.hasOwn(ERRORS, error.code)
  } catch {
    return false
  }
}

/** What was thrown, as an error of this package: under this `code` where it is none, with what it is as its cause. */
export function asOurs(error: unknown, code: ErrorCode): MessagingWebhooksError {
  return isOurs(error) ? error : new MessagingWebhooksError(code, undefined, { cause: error })
}

/** Thrown, or rejected with, for an option or an argument that cannot work. `code` is `options_invalid`. */
export class OptionsError extends MessagingWebhooksError {
  override readonly name = 'OptionsError'
  declare readonly code: 'options_invalid'

  constructor(detail: string) {
    super('options_invalid', detail)
  }
}

/** A request was refused, and the service does not send it again. Handed to `onError`. */
export class RefusedError extends MessagingWebhooksError {
  override readonly name = 'RefusedError'
  declare readonly code: RefusalCode
  /** The HTTP status of the answer. */
  readonly status: number

  constructor(code: RefusalCode, status: number, detail?: string, options?: ErrorOptions) {
    super(code, detail, options)
    this.status = status
  }
}

/** Why a request is refused that met with this. A store may throw an error of ours, too, whose code is about no request. */
export function asRefusal(error: unknown): {
  readonly code: RefusalCode
  readonly detail: string | undefined
  readonly cause: unknown
} {
  const ours = asOurs(error, 'internal')
  const { code, detail, cause } = ours
  return isRefusal(code) ? { code, detail, cause } : { code: 'store_failed', detail: undefined, cause: ours }
}

function isRefusal(code: ErrorCode): code is RefusalCode {
  return Object.hasOwn(REFUSED, code) || Object.hasOwn(UNAVAILABLE, code)
}

/** What an event is called in errors. */
export interface NamedEvent {
  readonly id: string
  readonly type: string
  readonly messageId: string | undefined
}

/** A handler failed, ran too long, or gave up for good. Handed to `onError`; `cause` is what the handler threw. */
export class HandlerError extends MessagingWebhooksError {
  override readonly name = 'HandlerError'
  declare readonly code: HandlerErrorCode
  /** The identity of the event. */
  readonly eventId: string
  readonly eventType: string
  /** The message that the event is about; undefined for a payment and all else that is about none. */
  readonly messageId: string | undefined
  /** 1 for the first attempt. */
  readonly attempt: number

  constructor(code: HandlerErrorCode, event: NamedEvent, attempt: number, detail?: string, options?: ErrorOptions) {
    const { id, type, messageId } = event
    const about = messageId === undefined ? '' : ` of message ${quoted(messageId)}`
    const which = `${type}${about} (event ${id}), attempt ${attempt}.`
    super(code, detail === undefined ? which : `${which} ${detail}`, options)
    this.eventId = id
    this.eventType = type
    this.messageId = messageId
    this.attempt = attempt
  }
}

const LONGEST_ID = 100

/** An id is what the sender says it is. */
function quoted(messageId: string): string {
  return JSON.stringify(messageId.length > LONGEST_ID ? `${messageId.slice(0, LONGEST_ID)}…` : messageId)
}

/** As long as a timer can be. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/**
 * Thrown by a handler that has not failed, but is to be called later: the event waits for `delayMs` in the store, and holds neither a
 * slot nor a lease. It counts as no attempt and is reported to nobody. Other handlers of the event are called as ever; later events of
 * its message wait. Throws an `OptionsError` for a delay that is no number from 1 to 2,147,483,647.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  /** Milliseconds from when it is thrown. */
  readonly delayMs: number

  constructor(delayMs: number) {
    if (!(delayMs >= 1 && delayMs <= LONGEST_DELAY_MS))
      throw new OptionsError('RetryLater: expected a number of milliseconds from 1 to 2,147,483,647.')
    super(`The handler is to be called again in ${delayMs} ms.`)
    this.delayMs = delayMs
  }
}

/** What a handler threw to be called later; undefined for all else that it may throw, a proxy that throws in its turn too. */
export function asRetryLater(error: unknown): RetryLater | undefined {
  try {
    return error instanceof RetryLater ? error : undefined
  } catch {
    return undefined
  }
}
