/** For each event type a callback that leads to it. Contract, "Events". */
import type { CallbackKind, EventType } from '../events.ts'
import { callback } from './callbacks.ts'

type Fields = Readonly<Record<string, unknown>>

interface CallbackRow {
  /** The kind of callback URL that it belongs to. */
  readonly kind: CallbackKind
  readonly what: string
  readonly build: (fields: Fields) => Record<string, unknown>
}

/** Every event type but `late`, which takes two callbacks: the later one first. */
export const CALLBACKS = {
  'message.queued': {
    kind: 'status',
    what: 'SMS, queued (13)',
    build: (fields) => callback.smsDelivery({ status: 'queued', statusCode: '13', ...fields }),
  },
  'message.sent': { kind: 'status', what: 'chat-app, sent', build: (fields) => chatApp('sent', fields) },
  'message.delivered': {
    kind: 'status',
    what: 'SMS over carrier A, success',
    build: (fields) => callback.smsDelivery(fields),
  },
  'message.read': { kind: 'status', what: 'chat-app, read', build: (fields) => chatApp('read', fields) },
  'message.failed': {
    kind: 'status',
    what: 'SMS over carrier A, delivery_impossible',
    build: (fields) => callback.smsDelivery({ status: 'delivery_impossible', ...fields }),
  },
  received: {
    kind: 'received',
    what: 'a text from a customer; fields of our own',
    build: (fields) => callback.received(fields),
  },
  payment: {
    kind: 'payment',
    what: 'a completed payment; fields of our own',
    build: (fields) => callback.payment(fields),
  },
  'subscription.activate': subscription('activate', 'a customer opted in; fields of our own'),
  'subscription.deactivate': subscription('deactivate', 'a customer opted out; fields of our own'),
  'subscription.consent': subscription('consent', 'the carrier’s consent was captured; fields of our own'),
  'subscription.delivery': subscription('delivery', 'a premium message was reported; fields of our own'),
  unrecognized: {
    kind: 'status',
    what: 'a report without a message id',
    build: (fields) => {
      const { messageId: _, ...rest } = callback.smsDelivery()
      return { ...rest, ...fields }
    },
  },
} as const satisfies Readonly<Record<Exclude<EventType, 'late'>, CallbackRow>>

/** The event types that one callback can lead to. */
export type CallbackEvent = keyof typeof CALLBACKS

/**
 * The body of a callback that leads to an event of this type, without the authKey. `fields` replace or add to its own;
 * `statuses` is merged, and `messageId` goes where the shape of the callback has it.
 */
export function callbackFor(type: CallbackEvent, fields: Fields = {}): Record<string, unknown> {
  return CALLBACKS[type].build(fields)
}

function chatApp(status: string, { messageId, statuses, ...fields }: Fields): Record<string, unknown> {
  return callback.chatApp({
    ...fields,
    statuses: {
      status,
      ...(messageId === undefined ? undefined : { message_id: messageId }),
      ...(typeof statuses === 'object' ? statuses : undefined),
    },
  })
}

function subscription(event: string, what: string): CallbackRow {
  return { kind: 'subscription', what, build: (fields) => callback.subscription({ event, ...fields }) }
}
