/** For each event type a callback that leads to it. Contract, service.md#events. */
import { unknownName } from '../runtime/check-options.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { CallbackKind, EventType } from '../public/events.ts'
import type { ReportShape } from '../public/report-payloads.ts'
import {
  checkChatAppFields,
  checkObject,
  checkSmsFields,
  type ChatAppFields,
  type Fields,
  type SmsDeliveryFields,
} from './callback-fields.ts'
import { callback, chatApp, smsDelivery } from './callbacks.ts'

interface CallbackRow {
  /** The kind of callback URL that it belongs to. */
  readonly kind: CallbackKind
  /** Whose fields it has; of the others the contract shows none. */
  readonly shape?: ReportShape
  /** With whatever fields. */
  readonly build: (fields: Fields) => Record<string, unknown>
}

/** Every event type but `late`, which takes two callbacks, the later one first, and those that come of none. */
export const CALLBACKS = {
  'message.queued': {
    kind: 'status',
    shape: 'sms',
    build: (fields) => smsDelivery({ status: 'queued', statusCode: '13', ...fields }),
  },
  'message.sent': {
    kind: 'status',
    shape: 'chat-app',
    build: (fields) => reported('sent', fields),
  },
  'message.delivered': {
    kind: 'status',
    shape: 'sms',
    build: (fields) => smsDelivery(fields),
  },
  'message.read': {
    kind: 'status',
    shape: 'chat-app',
    build: (fields) => reported('read', fields),
  },
  'message.failed': {
    kind: 'status',
    shape: 'sms',
    build: (fields) => smsDelivery({ status: 'delivery_impossible', ...fields }),
  },
  received: {
    kind: 'received',
    build: (fields) => callback.received(fields),
  },
  payment: {
    kind: 'payment',
    build: (fields) => callback.payment(fields),
  },
  'subscription.activate': subscription('activate'),
  'subscription.deactivate': subscription('deactivate'),
  'subscription.consent': subscription('consent'),
  'subscription.delivery': subscription('delivery'),
  'subscription.billing': subscription('billed'),
  'subscription.other': subscription('renewal_reminder'),
  unrecognized: {
    kind: 'status',
    shape: 'sms',
    build: (fields) => {
      const { messageId: _, ...rest } = callback.smsDelivery()
      return { ...rest, ...fields }
    },
  },
} as const satisfies Readonly<Record<Exclude<EventType, 'late' | 'send.overdue' | 'send.unknown'>, CallbackRow>>

/** The event types that one callback can lead to. */
export type CallbackEvent = keyof typeof CALLBACKS

/** What `callbackFor` takes for an event type; the contract shows no fields of received messages, payments and premium SMS. */
export type CallbackFields<T extends CallbackEvent> = (typeof CALLBACKS)[T] extends { readonly shape: 'sms' }
  ? SmsDeliveryFields
  : (typeof CALLBACKS)[T] extends { readonly shape: 'chat-app' }
    ? ChatAppFields & { readonly messageId?: string | undefined }
    : Fields

/**
 * The body of a callback that leads to an event of this type, without the authKey. `fields` replace its own; `statuses` is
 * merged, and `messageId` goes where the shape of the callback has it. Throws a `MessagingWebhooksError` (`pattern_unknown`)
 * for an event type that does not exist or has no single callback, and an `OptionsError` for a misspelt field.
 */
export function callbackFor<const T extends CallbackEvent>(
  type: T,
  fields?: CallbackFields<T>,
): Record<string, unknown> {
  const row: CallbackRow | undefined = Object.hasOwn(CALLBACKS, type) ? CALLBACKS[type] : undefined
  if (row === undefined) throw new MessagingWebhooksError('pattern_unknown', hintFor(type))
  const given = fields ?? {}
  const where = `callbackFor('${type}')`
  if (row.shape === 'sms') checkSmsFields(given, where)
  else if (row.shape === 'chat-app') checkChatAppFields(given, where, ['messageId'])
  else checkObject(given, where)
  return row.build({ ...given })
}

function hintFor(type: string): string {
  if (type === 'late') return 'No one callback is `late`: deliver that of a later report, then that of an earlier one.'
  if (type === 'send.overdue')
    return 'No callback brings `send.overdue`: expect a message, and let the time pass in which its end should come.'
  if (type === 'send.unknown')
    return 'No callback brings `send.unknown`: call `receiver.intend`, and `unknown` of what it returns.'
  return unknownName(type, Object.keys(CALLBACKS))
}

function reported(status: string, { messageId, statuses, ...fields }: Fields): Record<string, unknown> {
  return chatApp({
    ...fields,
    statuses: {
      status,
      ...(messageId === undefined ? undefined : { message_id: messageId }),
      ...(typeof statuses === 'object' ? statuses : undefined),
    },
  })
}

function subscription(event: string): CallbackRow {
  return { kind: 'subscription', build: (fields) => callback.subscription({ event, ...fields }) }
}
