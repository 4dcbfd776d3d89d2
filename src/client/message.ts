/** The messages that a caller passes, and their checks. Contract, service.md#send-request-fields. */
import { z } from 'zod'
import { checkOptions, numberFrom, textOf } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import { OptionsError } from '../public/errors.ts'
import type { RecordOptions } from '../public/intention.ts'
import type { SendType } from './sent.ts'

interface MessageFields<M> {
  /**
   * One or more numbers in international format: digits, with an optional plus. How the service expects several numbers is not
   * shown; the client sends a JSON list, or repeats the field in a form or query.
   */
  readonly to: string | readonly string[]
  /** The sender ID. Default: the project's. */
  readonly from?: string | undefined
  /** A free label. Returned in `sent.campaign`. */
  readonly campaign?: string | undefined
  /**
   * Fields that the contract does not show, such as those of some channels. Sent unchanged. In a form or query, each value is a
   * string, a number, `true` or `false`, or a list of these.
   */
  readonly extra?: Readonly<Record<string, unknown>> | undefined
  /**
   * Idempotency key of the send, at most 256 characters, such as an order id. Another send with the same reference is refused;
   * a list sends to no number twice. This and the next three require the option `receiver`. Default: a random UUID.
   */
  readonly reference?: string | undefined
  /** Your own small JSON value, such as an order id, at most 4,096 bytes. Appears as `event.sent.meta` in its reports. */
  readonly meta?: M | undefined
  /** Time until a message without a final report is overdue. Milliseconds. Default: 24 hours, or 72 hours with a chat-app. */
  readonly withinMs?: number | undefined
  /** After this time, `resend` does not send the message again. */
  readonly notAfter?: Date | undefined
}

interface SchedulableFields<M> extends MessageFields<M> {
  /** The type of send, such as `transactional`. Default: none, and the service decides. */
  readonly type?: SendType | undefined
  /** Delivery time. Its format is not shown: see the option `schedule`. */
  readonly scheduledFor?: Date | undefined
}

/** A message for `client.send`. */
export interface Message<M = unknown> extends SchedulableFields<M> {
  readonly message: string
  /** Name of the channel: `sms`, or the chat-app's. Default `sms`. */
  readonly channel?: string | undefined
}

/** A message for `client.otp`. Its text contains the code, which the app creates, stores and checks. */
export interface OtpMessage<M = unknown> extends MessageFields<M> {
  readonly message: string
  /** Default `sms`. */
  readonly channel?: string | undefined
}

/** A message for `client.premium` and `client.premiumSubscription`. */
export interface PremiumMessage<M = unknown> extends SchedulableFields<M> {
  readonly message: string
}

/** A send for `client.airtime`. The name of the field for the amount is not shown: pass it in `extra`. */
export interface Airtime<M = unknown> extends SchedulableFields<M> {
  readonly message?: string | undefined
}

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

/** Contract, service.md#send-request-fields. */
const NUMBER = /^\+?[0-9]+$/
const name = textOf('a non-empty string').optional()
const date = z
  .custom<Date>((value) => value instanceof Date && !Number.isNaN(value.getTime()), 'expected a Date that is valid')
  .optional()
const fields = {
  to: z.custom<string | readonly string[]>(
    (value) => isNumber(value) || (Array.isArray(value) && value.length > 0 && value.every(isNumber)),
    'expected digits, with or without a plus before them, or a list of at least one such string',
  ),
  from: name,
  campaign: name,
  extra: z.record(z.string(), z.unknown()).optional(),
  reference: name,
  meta: z.unknown().optional(),
  withinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').optional(),
  notAfter: date,
}
const text = { message: z.string() }
const channel = { channel: name }
const schedulable = { type: name, scheduledFor: date }

const SCHEMAS = {
  send: z.strictObject({ ...fields, ...schedulable, ...text, ...channel }),
  sendAll: z.strictObject({ ...fields, ...schedulable, ...text, ...channel }),
  otp: z.strictObject({ ...fields, ...text, ...channel }),
  premium: z.strictObject({ ...fields, ...schedulable, ...text }),
  premiumSubscription: z.strictObject({ ...fields, ...schedulable, ...text }),
  airtime: z.strictObject({ ...fields, ...schedulable, message: z.string().optional() }),
} as const

export type SendCall = keyof typeof SCHEMAS

/** Fields that the client writes itself, so `extra` must not contain them. */
const OWN_FIELDS = [
  'project',
  'apiKey',
  'to',
  'message',
  'from',
  'channel',
  'type',
  'campaign',
  'scheduledFor',
] as const

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
  const { to, message, from, campaign, scheduledFor, extra = {} } = checked
  const { reference, meta, withinMs, notAfter } = checked
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

/** The recipients as a list. */
export function recipientsOf({ to }: Pick<Outgoing, 'to'>): readonly string[] {
  return typeof to === 'string' ? [to] : to
}
