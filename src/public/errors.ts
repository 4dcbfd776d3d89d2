/** The error classes. Each error has a code of the table. */
import {
  ERRORS,
  ERRORS_PAGE,
  REFUSED,
  UNAVAILABLE,
  type ErrorCode,
  type HandlerErrorCode,
  type RefusalCode,
} from './error-table.ts'
import type { CallbackKind } from './events.ts'

/**
 * The class of every error of this package. Its message says what happened, what to do and where to read more, never a secret
 * or a body.
 */
export class MessagingWebhooksError extends Error {
  override readonly name: string = 'MessagingWebhooksError'
  readonly code: ErrorCode
  /** The part of the message that names the value or limit of this case. */
  readonly detail: string | undefined

  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions) {
    super([...sentences(code, detail), referenceTo(code)].join(' '), options)
    this.code = code
    this.detail = detail
  }
}

export function referenceTo(code: ErrorCode): string {
  return `See ${ERRORS_PAGE}#${code}`
}

function sentences(code: ErrorCode, detail: string | undefined): readonly string[] {
  const [happened, todo] = ERRORS[code]
  if (detail === undefined) return [happened, todo]
  // The detail of an invalid option already says what happened and what to do.
  return code === 'options_invalid' ? [detail] : [happened, detail, todo]
}

/** User functions may throw anything, including a proxy that throws when inspected. */
export function isOurs(error: unknown): error is MessagingWebhooksError {
  try {
    return error instanceof MessagingWebhooksError && Object.hasOwn(ERRORS, error.code)
  } catch {
    return false
  }
}

/** Returns errors of this package, and wraps anything else with this `code` and the value as its cause. */
export function asOurs(error: unknown, code: ErrorCode): MessagingWebhooksError {
  return isOurs(error) ? error : new MessagingWebhooksError(code, undefined, { cause: error })
}

/** An invalid option or argument, thrown or as a rejection. `code` is `options_invalid`. */
export class OptionsError extends MessagingWebhooksError {
  override readonly name = 'OptionsError'
  declare readonly code: 'options_invalid'

  constructor(detail: string) {
    super('options_invalid', detail)
  }
}

/** What the body of a refused request names. Anyone may have written it. */
export interface UnverifiedNames {
  readonly project?: string
  readonly messageId?: string
}

interface RefusedRequest {
  readonly status: number
  readonly kind: CallbackKind | undefined
  readonly unverified: UnverifiedNames
}

/** A request was refused. The service does not send it again. Passed to `onError`. */
export class RefusedError extends MessagingWebhooksError {
  override readonly name = 'RefusedError'
  declare readonly code: RefusalCode
  /** The HTTP status of the response. */
  readonly status: number
  /** The kind of the URL. Undefined for a URL that is mounted without a kind. */
  readonly kind: CallbackKind | undefined
  /** The project and the message id that the body names, without a check of any proof. At most 100 characters of each. */
  readonly unverified: UnverifiedNames
  override readonly detail: string | undefined

  constructor(
    code: RefusalCode,
    { status, kind, unverified }: RefusedRequest,
    detail?: string,
    options?: ErrorOptions,
  ) {
    super(code, [detail, describeRequest(kind, unverified)].filter((part) => part !== undefined).join(' '), options)
    this.status = status
    this.kind = kind
    this.unverified = unverified
    this.detail = detail
  }
}

function describeRequest(kind: CallbackKind | undefined, { project, messageId }: UnverifiedNames): string {
  const url = kind === undefined ? 'The URL has no kind' : `The URL is of kind \`${kind}\``
  const names = [
    ...(project === undefined ? [] : [`project ${quoted(project)}`]),
    ...(messageId === undefined ? [] : [`message ${quoted(messageId)}`]),
  ]
  return names.length === 0 ? `${url}.` : `${url}; the body names ${names.join(' and ')} (unverified).`
}

/**
 * The reason to refuse a request after this error. A store may also throw an error of this package that is not about a request.
 */
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

export interface NamedEvent {
  readonly id: string
  readonly type: string
  readonly messageId: string | undefined
}

/** A handler failed, timed out, or its event became a dead letter. Passed to `onError`. `cause` is what the handler threw. */
export class HandlerError extends MessagingWebhooksError {
  override readonly name = 'HandlerError'
  declare readonly code: HandlerErrorCode
  /** The id of the event. */
  readonly eventId: string
  readonly eventType: string
  /** The message of the event. Undefined for events without one, such as a payment. */
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

/** Names in messages of errors are cut, because the sender chooses them. */
export const LONGEST_NAME = 100

/** Escapes and shortens a name that the sender chooses. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name)
}

/** Maximum delay of a timer. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/**
 * Throw it from a handler that has not failed but should be called later. The event waits in the store for `delayMs` and holds
 * no concurrency slot or lease. This does not count as an attempt and is not reported. Other handlers of the event are called
 * as usual; later events of its message wait. Throws an `OptionsError` unless the delay is a number from 1 to 2,147,483,647.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  /** Milliseconds from the throw. */
  readonly delayMs: number

  constructor(delayMs: number) {
    if (!(delayMs >= 1 && delayMs <= LONGEST_DELAY_MS))
      throw new OptionsError('RetryLater: expected a number of milliseconds from 1 to 2,147,483,647.')
    super(`Call the handler again in ${delayMs} ms.`)
    this.delayMs = delayMs
  }
}

/** Undefined for anything but a `RetryLater`, including a proxy that throws when inspected. */
export function asRetryLater(error: unknown): RetryLater | undefined {
  try {
    return error instanceof RetryLater ? error : undefined
  } catch {
    return undefined
  }
}
