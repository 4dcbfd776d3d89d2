/**
 * Builds valid callback bodies. Every field has a default and can be replaced. The types and the known names of fields derive
 * from their tables. Contract, service.md#events.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import type { CallbackKind, EventType } from '../public/events.ts'
import type { ReportShape } from '../public/report-payloads.ts'
import { unknownName, describe, nearestByEdits, type Given } from '../runtime/check-options.ts'
import { isRecord } from '../runtime/values.ts'

/** Builders accept any field, because the service may add some. */
export type Fields = Readonly<Record<string, unknown>>

const text = z.string().optional()
const code = z.union([z.string(), z.number()]).optional()
const unixSeconds = z.number().optional()

const smsFields = {
  project: text,
  messageId: text,
  channel: text,
  /** Carrier A: `success`, `network_failure`, ...; carrier B: its own words. */
  status: text,
  /** A code of the service's table. */
  statusCode: code,
  network: text,
  type: text,
  /** Unix seconds. */
  timestamp: unixSeconds,
  /** Carrier B's reason for a failure. */
  description: text,
  /** Carrier B's reason for a failure, as a code. */
  status_code: code,
  authKey: text,
}

const statuses = {
  recipient: text,
  message_id: text,
  /** `sent`, `delivered`, `read` or `failed`. */
  status: text,
  type: text,
  conversation_id: text,
  /** Unix seconds, as text. */
  expiration_timestamp: text,
  category: text,
  /** The reason for a failure. */
  error: text,
}

const chatAppFields = {
  project: text,
  channel: text,
  /** The sending number of the project. */
  phone_number: text,
  statuses: z.object(statuses).optional(),
  /** Unix seconds. */
  timestamp: unixSeconds,
  /** A code of the service's table. */
  statusCode: code,
  authKey: text,
}

/** Contract, service.md#sms-delivery-callback. A field that is undefined is omitted from the body. */
export type SmsDeliveryFields = Given<typeof smsFields>
/** The fields of `statuses` in a chat-app callback. */
export type ChatAppStatuses = Given<typeof statuses>
/** Contract, service.md#chat-app-delivery-callback. A field that is undefined is omitted from the body. */
export type ChatAppFields = Given<typeof chatAppFields, { readonly statuses: ChatAppStatuses | undefined }>

/** Names of the documented fields, by the object that contains them: `''` for the body itself. */
type KnownFields = Readonly<Record<string, readonly string[]>>

/** A chat-app callback also accepts `messageId` at the top level and moves it into `statuses`. */
const KNOWN_FIELDS: Readonly<Record<ReportShape, KnownFields>> = {
  sms: { '': Object.keys(smsFields) },
  'chat-app': { '': [...Object.keys(chatAppFields), 'messageId'], statuses: Object.keys(statuses) },
}

/** The first undocumented field that resembles a documented one that was not given, such as `statuses.stauts`. */
function misspeltField(given: Fields, known: KnownFields): readonly [name: string, meant: string] | undefined {
  for (const [within, names] of Object.entries(known)) {
    const inner = within === '' ? given : given[within]
    const fields = isRecord(inner) ? inner : {}
    const left = names.filter((name) => !Object.hasOwn(fields, name))
    for (const name of Object.keys(fields).filter((each) => !names.includes(each))) {
      // A documented name in the wrong object, such as the chat-app `status`, which belongs into `statuses`.
      const elsewhere = Object.keys(known).find((place) => known[place]?.includes(name))
      const meant = elsewhere === undefined ? nearestByEdits(name, left) : name
      if (meant !== undefined) return [pathOf(within, name), pathOf(elsewhere ?? within, meant)]
    }
  }
  return undefined
}

function pathOf(within: string, name: string): string {
  return within === '' ? name : `${within}.${name}`
}

/**
 * Throws an `OptionsError` if the fields are not an object, or for a field that looks misspelt, which would leave the default
 * value and let the test pass. Undocumented callbacks accept any field.
 */
function checkFields(given: unknown, where: string, known: KnownFields = {}): asserts given is object {
  checkObject(given, where, 'fields')
  const { statuses }: { readonly statuses?: unknown } = given
  if ('statuses' in known && statuses !== undefined) checkObject(statuses, where, 'statuses')
  const misspelt = misspeltField({ ...given }, known)
  if (misspelt === undefined) return
  const [name, meant] = misspelt
  throw new OptionsError(
    `${where}: ${name} is not a field of this callback. Did you mean ${meant}? If not, add it to the returned body.`,
  )
}

function checkObject(given: unknown, where: string, what: string): asserts given is object {
  if (!isRecord(given)) throw new OptionsError(`${where}: ${what} is ${describe(given)}; expected an object.`)
}

type Body = Record<string, unknown>

const PROJECT = 'My Shop'

/** Builders of callback bodies, without the authKey, which the sender adds. Throw an `OptionsError` for a misspelt field. */
export const callback = {
  /** Contract, service.md#sms-delivery-callback. Default: carrier A, `success`, now. */
  smsDelivery(fields: SmsDeliveryFields = {}): Body {
    checkFields(fields, 'callback.smsDelivery', KNOWN_FIELDS.sms)
    return smsDelivery({ ...fields })
  },
  /** Contract, service.md#chat-app-delivery-callback; `statuses` is merged. Default: `delivered`. */
  chatApp(fields: ChatAppFields = {}): Body {
    checkFields(fields, 'callback.chatApp', KNOWN_FIELDS['chat-app'])
    return chatApp({ ...fields })
  },
  /** Contract: "not shown". The fields are examples of this package. */
  received(fields: Fields = {}): Body {
    checkFields(fields, 'callback.received')
    return { project: PROJECT, id: randomUUID(), from: '254711000000', to: '22384', text: 'Hello', ...fields }
  },
  /** Contract: "not shown". The fields are examples of this package. */
  payment(fields: Fields = {}): Body {
    checkFields(fields, 'callback.payment')
    return { project: PROJECT, id: randomUUID(), amount: 100, currency: 'KES', status: 'completed', ...fields }
  },
  /** Contract, service.md#premium-sms-callbacks; fields not shown. Default: `activate`. */
  subscription(fields: Fields = {}): Body {
    checkFields(fields, 'callback.subscription')
    return { project: PROJECT, event: 'activate', phone: '254711000000', keyword: 'NEWS', ...fields }
  },
} as const

function smsDelivery(fields: Fields): Body {
  return {
    project: PROJECT,
    messageId: randomUUID(),
    channel: 'sms',
    status: 'success',
    network: 'carrier-a',
    type: 'bulkDelivery',
    timestamp: nowSeconds(),
    ...fields,
  }
}

function chatApp({ messageId = randomUUID(), statuses, ...fields }: Fields, status = 'delivered'): Body {
  const own = { status, ...(typeof statuses === 'object' ? statuses : undefined) }
  const reason = { error: 'Re-engagement message: more than 24 hours have passed' }
  const conversation = {
    conversation_id: randomUUID(),
    expiration_timestamp: String(nowSeconds() + 86_400),
    category: 'utility',
  }
  return {
    project: PROJECT,
    channel: 'chat-app',
    phone_number: '254700000000',
    statuses: {
      recipient: '254711000000',
      message_id: messageId,
      type: 'status',
      ...(own.status === 'failed' ? reason : conversation),
      ...own,
    },
    ...fields,
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

interface CallbackRow {
  readonly kind: CallbackKind
  /** The documented fields. The contract shows none for other shapes. */
  readonly shape?: ReportShape
  readonly build: (fields: Fields) => Body
}

const sms = (build: CallbackRow['build']) => ({ kind: 'status', shape: 'sms', build }) as const
const ofChatApp = (status: string) =>
  ({ kind: 'status', shape: 'chat-app', build: (fields: Fields) => chatApp(fields, status) }) as const
const subscription = (event: string): CallbackRow => ({
  kind: 'subscription',
  build: (fields) => callback.subscription({ event, ...fields }),
})

/** Every event type that a single callback can produce. `late` takes two callbacks; the synthetic events have none. */
export const CALLBACKS = {
  'message.queued': sms((fields) => smsDelivery({ status: 'queued', statusCode: '13', ...fields })),
  'message.sent': ofChatApp('sent'),
  'message.delivered': sms(smsDelivery),
  'message.read': ofChatApp('read'),
  'message.failed': sms((fields) => smsDelivery({ status: 'delivery_impossible', ...fields })),
  received: { kind: 'received', build: callback.received },
  payment: { kind: 'payment', build: callback.payment },
  'subscription.activate': subscription('activate'),
  'subscription.deactivate': subscription('deactivate'),
  'subscription.consent': subscription('consent'),
  'subscription.delivery': subscription('delivery'),
  'subscription.billing': subscription('billed'),
  'subscription.other': subscription('renewal_reminder'),
  unrecognized: sms((fields) => smsDelivery({ messageId: undefined, ...fields })),
} as const satisfies Readonly<Record<Exclude<EventType, 'late' | 'send.overdue' | 'send.unknown'>, CallbackRow>>

/** An event type that a single callback can produce, for `callbackFor`. */
export type CallbackEvent = keyof typeof CALLBACKS

/**
 * The fields that `callbackFor` accepts for an event type. The contract shows none for received messages, payments and premium
 * SMS.
 */
export type CallbackFields<T extends CallbackEvent> = (typeof CALLBACKS)[T] extends { readonly shape: 'sms' }
  ? SmsDeliveryFields
  : (typeof CALLBACKS)[T] extends { readonly shape: 'chat-app' }
    ? ChatAppFields & { readonly messageId?: string | undefined }
    : Fields

/**
 * The body of a callback that produces an event of this type, without the authKey. `fields` replace the defaults; `statuses` is
 * merged, and `messageId` is placed as the shape requires. Throws a `MessagingWebhooksError` (`pattern_unknown`) if the event
 * type does not exist or no single callback produces it, and an `OptionsError` for a misspelt field.
 */
export function callbackFor<const T extends CallbackEvent>(type: T, fields?: CallbackFields<T>): Body {
  const row: CallbackRow | undefined = Object.hasOwn(CALLBACKS, type) ? CALLBACKS[type] : undefined
  if (row === undefined)
    throw new MessagingWebhooksError('pattern_unknown', HINTS.get(type) ?? unknownName(type, Object.keys(CALLBACKS)))
  const given = fields ?? {}
  checkFields(given, `callbackFor('${type}')`, row.shape && KNOWN_FIELDS[row.shape])
  return row.build({ ...given })
}

const HINTS: ReadonlyMap<string, string> = new Map([
  ['late', 'No single callback produces `late`. Deliver a later report, then an earlier one.'],
  ['send.overdue', 'No callback produces `send.overdue`. Expect a message, and let its time pass.'],
  ['send.unknown', 'No callback produces `send.unknown`. Call `receiver.sends.intend`, then `unknown` on the result.'],
])
