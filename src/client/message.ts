/**
 * The messages that a caller passes, their checks, and the request of a send: a POST with JSON and the live key in a header.
 * Contract, service.md#send-request-fields, #send-a-message, #authentication.
 */
import { z } from 'zod'
import { checkOptions, expected, numberFrom, textOf, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { defined, isPromiseLike, letReject } from '../runtime/values.ts'
import { distinctNumbers } from '../runtime/recipient-forms.ts'
import { OptionsError } from '../public/errors.ts'
import type { RecordOptions } from '../public/intention.ts'
import type { SendType } from './sent.ts'
import { stopAfter } from './exchange.ts'
import type { ResolvedOptions } from './options.ts'
import { SendError, type SendFailure } from './send-error.ts'

/** Contract, service.md#send-request-fields. */
const NUMBER = /^\+?[0-9]+$/
const name = textOf('a non-empty string').optional()
const date = expected<Date>('a Date that is valid', (value) => value instanceof Date && !Number.isNaN(value.getTime()))

const messageFields = {
  /**
   * One or more numbers in international format, with or without a plus. Each is sent to once. The contract does not show
   * how to send several numbers; the client sends a list.
   */
  to: expected<string | readonly string[]>(
    'digits, with or without a plus before them, or a list of at least one such string',
    (value) => isNumber(value) || (Array.isArray(value) && value.length > 0 && value.every(isNumber)),
  ),
  /** The sender ID. Default: the project's. */
  from: name,
  /** A free label. Returned in `sent.campaign`. */
  campaign: name,
  /**
   * Other fields that your channel needs, sent unchanged.
   */
  extra: z.record(z.string(), z.unknown()).optional(),
  /**
   * Idempotency key of the send, at most 256 characters. Another send with the same reference is refused;
   * a list sends to no number twice, nor to one of a send with its reference. This and the next three require the option
   * `receiver`. Default: a random UUID.
   */
  reference: name,
  /** Your own JSON value for `event.sent.meta` of its reports, at most 4,096 bytes. Such as an order id. */
  meta: z.unknown().optional(),
  /** Milliseconds until a message without a final report is overdue. Default: 24 hours, 72 with a chat-app. */
  withinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').optional(),
  /** After this time, `resend` does not send the message again. */
  notAfter: date.optional(),
}
const schedulableFields = {
  ...messageFields,
  /** The type of send, such as `transactional`. Default: none. The service then decides. */
  type: name,
  /** Delivery time. The option `schedule` sets its format. */
  scheduledFor: date.optional(),
}
const channelField = {
  /** `sms`, or the chat-app's name. Default: `sms`. */
  channel: name,
}
const sms = { ...schedulableFields, message: z.string(), ...channelField }
const otp = { ...messageFields, message: z.string(), ...channelField }
const premium = { ...schedulableFields, message: z.string() }
const airtime = { ...schedulableFields, message: z.string().optional() }

/** Types that a schema cannot express. */
interface ExplicitTypes<M> {
  readonly meta: M | undefined
  readonly extra: Readonly<Record<string, unknown>> | undefined
  readonly type: SendType | undefined
}

/** A message for `client.send`. */
export interface Message<M = unknown> extends Given<typeof sms, ExplicitTypes<M>> {}

/** A message for `client.otp`. Its text contains the code, which the app creates, stores and checks. */
export interface OtpMessage<M = unknown> extends Given<typeof otp, ExplicitTypes<M>> {}

/** A message for `client.premium` and `client.premiumSubscription`. */
export interface PremiumMessage<M = unknown> extends Given<typeof premium, ExplicitTypes<M>> {}

/** A send for `client.airtime`. The contract does not name the field for the amount: pass it in `extra`. */
export interface Airtime<M = unknown> extends Given<typeof airtime, ExplicitTypes<M>> {}

/** A checked send, before it is written in one of the forms. */
export interface Outgoing {
  readonly to: string | readonly string[]
  readonly message: string | undefined
  readonly from: string | undefined
  readonly channel: string
  readonly type: SendType | undefined
  readonly campaign: string | undefined
  readonly scheduledFor: Date | undefined
  readonly extra: Readonly<Record<string, unknown>>
  /** Passed to the receiver, not to the service. */
  readonly recorded: Pick<RecordOptions, 'reference' | 'meta' | 'withinMs' | 'notAfter'>
}

const SCHEMAS = {
  send: z.strictObject(sms),
  sendAll: z.strictObject(sms),
  otp: z.strictObject(otp),
  premium: z.strictObject(premium),
  premiumSubscription: z.strictObject(premium),
  airtime: z.strictObject(airtime),
} as const

export type SendCall = keyof typeof SCHEMAS

/** Fields that the client writes itself, so `extra` must not contain them. */
const OWN_FIELDS = ['project', 'apiKey', 'to', 'message', 'from', 'channel', 'type', 'campaign', 'scheduledFor']

/** The output of any of the schemas. */
type Checked = Pick<Outgoing, 'to'> & {
  readonly [K in keyof Outgoing]?: Outgoing[K] | undefined
} & Outgoing['recorded']

/** Checks the arguments of a call. Throws an `OptionsError`, which contains no text and no number. */
export function checkMessage(
  call: SendCall,
  given: unknown,
  defaults: { readonly channel: string; readonly type?: SendType },
): Outgoing {
  const checked: Checked = checkOptions(SCHEMAS[call], given, call)
  const { to, message, from, campaign, scheduledFor, extra = {}, reference, meta, withinMs, notAfter } = checked
  const twice = OWN_FIELDS.find((field) => Object.hasOwn(extra, field))
  if (twice !== undefined)
    throw new OptionsError(`${call}: extra.${twice} is a field that the client writes itself. Remove it.`)
  return {
    // The caller may modify its list before the request is written.
    to: typeof to === 'string' ? to : [...to],
    message,
    from,
    campaign,
    scheduledFor,
    extra,
    channel: checked.channel ?? defaults.channel,
    type: checked.type ?? defaults.type,
    recorded: defined({ reference, meta, withinMs, notAfter }),
  }
}

function isNumber(value: unknown): boolean {
  return typeof value === 'string' && NUMBER.test(value)
}

export function recipientsOf({ to }: Pick<Outgoing, 'to'>): readonly string[] {
  return typeof to === 'string' ? [to] : to
}

/** A number that is listed twice, in whatever form, is one recipient. */
export function toEachOnce(outgoing: Outgoing): Outgoing {
  return typeof outgoing.to === 'string' ? outgoing : { ...outgoing, to: distinctNumbers(outgoing.to) }
}

type RequestParts = Pick<ResolvedOptions, 'project' | 'schedule'> & { readonly apiKey: string }

/** Characters allowed in a header. */
const HEADER_TEXT = /^[\x21-\x7e]+$/

/** Throws an `OptionsError` for a key that no header can carry, or a value that cannot be written as JSON. */
export function buildRequest(outgoing: Outgoing, { project, apiKey, schedule }: RequestParts): RequestInit {
  if (!HEADER_TEXT.test(apiKey))
    throw new OptionsError(
      'apiKey contains white space or a character that a header cannot carry. Remove it: it may be the line end of a file.',
    )
  const { to, message, from, channel, type, campaign, scheduledFor, extra } = outgoing
  const body = jsonOf({
    project,
    ...defined({ from }),
    // Contract, service.md#send-request-fields: a single number is a string.
    to: typeof to === 'string' || to.length > 1 ? to : to[0],
    ...defined({ message, channel, type, campaign }),
    ...(scheduledFor !== undefined && scheduleOf(scheduledFor, schedule)),
    ...extra,
  })
  const authorization = `Bearer ${apiKey}`
  const headers = { accept: 'application/json', 'content-type': 'application/json', authorization }
  // A redirect would pass the key and the message on, and may turn a POST into a GET.
  // Deno repeats a request with a string body after a reset connection (measured with 2.9), but not one with a Blob.
  return { method: 'POST', headers, redirect: 'manual', body: new Blob([body]) }
}

/** Without these fields the message would be sent at once, so anything but an object with fields is an error. */
function scheduleOf(at: Date, schedule: RequestParts['schedule']): object {
  let fields: unknown
  try {
    fields = schedule(at)
    letReject(fields)
  } catch {
    // The error may quote a field.
  }
  if (typeof fields === 'object' && fields !== null && !isPromiseLike(fields)) return fields
  throw new OptionsError('schedule threw, or returned no object with fields. Return the fields for the time.')
}

function jsonOf(fields: object): string {
  try {
    return JSON.stringify(fields)
  } catch {
    // The error may quote a field.
    throw new OptionsError('extra contains a value that cannot be written as JSON.')
  }
}

/**
 * The current API key. Contract, service.md#authentication: a regenerated key is valid at once, and the old one is not. Rejects
 * with `not_sent` if the function returns no key in time, and with `aborted` if the signal fires first.
 */
export async function liveKey(
  { apiKey, clock, timeoutMs }: Pick<ResolvedOptions, 'apiKey' | 'clock' | 'timeoutMs'>,
  signal: AbortSignal | undefined,
  failure: SendFailure,
): Promise<string> {
  if (typeof apiKey === 'string') return apiKey
  const { stopped, cancel } = stopAfter(clock, timeoutMs, signal)
  try {
    // The function may also throw synchronously.
    const asked = Promise.resolve().then(apiKey)
    const given: unknown = await Promise.race([asked.then((key) => ({ key })), stopped])
    // The signal may fire in the same turn.
    if (given === 'aborted' || signal?.aborted === true) throw new SendError('aborted', failure)
    if (given === 'timeout') throw new SendError('not_sent', { ...failure, reason: 'timeout', detail: SLOW })
    const key = typeof given === 'object' && given !== null && 'key' in given ? given.key : undefined
    if (typeof key === 'string' && key !== '') return key
    throw new SendError('not_sent', { ...failure, detail: EMPTY })
  } catch (error) {
    if (error instanceof SendError) throw error
    throw new SendError('not_sent', { ...failure, detail: THREW, cause: error })
  } finally {
    cancel()
  }
}

const SLOW = 'apiKey() took longer than timeoutMs.'
const EMPTY = 'apiKey() returned an empty string, or no string.'
const THREW = 'apiKey() threw the error in `cause`.'
