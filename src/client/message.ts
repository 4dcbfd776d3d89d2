/** What is sent, as the caller writes it, and the checks. Contract, service.md#send-request-fields. */
import { z } from 'zod'
import { checkOptions, numberFrom, textOf } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import { OptionsError } from '../public/errors.ts'
import type { RecordOptions } from '../public/intention.ts'
import type { SendType } from './sent.ts'

interface MessageFields<M> {
  /**
   * One number or several, in international form: digits, with or without a plus. How the service takes several in one request is not
   * shown; a list of
   * several is a list in JSON, and a repeated field in a form or query.
   */
  readonly to: string | readonly string[]
  /** The sender ID. Default: that of the project. */
  readonly from?: string | undefined
  /** A free label, which comes back in `sent.campaign`. */
  readonly campaign?: string | undefined
  /**
   * Fields that the contract does not show, as those of some channels: sent untouched, beside the others. In a form or query each is a
   * text, a number, `true` or `false`, or a list of these.
   */
  readonly extra?: Readonly<Record<string, unknown>> | undefined
  /**
   * Your own name for the send, at most 256 characters, such as the id of an order: another send with it is refused, and of a list no number
   * is sent to twice. This and the next three need the option `receiver`. Default: a random UUID.
   */
  readonly reference?: string | undefined
  /** Your own small JSON, such as the id of an order, at most 4,096 bytes: `event.sent.meta` of its reports. */
  readonly meta?: M | undefined
  /** How long the end of each message may take before it is overdue. Milliseconds. Default: 24 hours, and 72 hours with a chat-app. */
  readonly withinMs?: number | undefined
  /** After that it is of no use to send it again: for `resend`. */
  readonly notAfter?: Date | undefined
}

interface SchedulableFields<M> extends MessageFields<M> {
  /** The kind of send, as in `transactional`. Default: none, and the service decides. */
  readonly type?: SendType | undefined
  /** When it is to be delivered. How that is written is not shown: see the option `schedule`. */
  readonly scheduledFor?: Date | undefined
}

/** What `client.send` takes. */
export interface Message<M = unknown> extends SchedulableFields<M> {
  /** The text. */
  readonly message: string
  /** The channel's name: `sms`, or the chat-app's. Default `sms`. */
  readonly channel?: string | undefined
}

/** What `client.otp` takes: the text with the code in it, which the app composes, keeps and checks. */
export interface OtpMessage<M = unknown> extends MessageFields<M> {
  readonly message: string
  /** Default `sms`. */
  readonly channel?: string | undefined
}

/** What `client.premium` and `client.premiumSubscription` take. */
export interface PremiumMessage<M = unknown> extends SchedulableFields<M> {
  readonly message: string
}

/** What `client.airtime` takes. Which field has the amount is not shown: it stands in `extra`. */
export interface Airtime<M = unknown> extends SchedulableFields<M> {
  readonly message?: string | undefined
}

/** A send before it is written in one of the forms. */
export interface Outgoing {
  readonly to: string | readonly string[]
  readonly message: string | undefined
  readonly from: string | undefined
  readonly channel: string
  readonly type: SendType | undefined
  readonly campaign: string | undefined
  readonly scheduledFor: Date | undefined
  readonly extra: Readonly<Record<string, unknown>>
  /** What the service is not told, but the receiver. */
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

/** The calls that send. */
export type SendCall = keyof typeof SCHEMAS

/** Those that the client writes itself; one of them in `extra` would be meant twice. */
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

/** What any of the schemas lets through. */
type Checked = Pick<Outgoing, 'to'> & {
  readonly [K in keyof Outgoing]?: Outgoing[K] | undefined
} & Outgoing['recorded']

/** Checks what a call was given. Throws an `OptionsError`; it shows no text and no number. */
export function checkMessage(
  call: SendCall,
  given: unknown,
  defaults: { readonly channel: string; readonly type?: SendType },
): Outgoing {
  const checked: Checked = checkOptions(SCHEMAS[call], given, call)
  const { to, message, from, campaign, scheduledFor, extra = {} } = checked
  const { reference, meta, withinMs, notAfter } = checked
  const twice = OWN_FIELDS.find((field) => Object.hasOwn(extra, field))
  if (twice !== undefined) throw new OptionsError(`${call}: extra.${twice} is a field of the client’s own.`)
  return {
    // The caller's list may change before the request is written.
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
