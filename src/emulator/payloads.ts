/**
 * Payloads of callbacks, without the authKey. Contract, service.md#events. Triggers are callbacks without a send: customers
 * write, pay and subscribe. The contract does not show their fields; see not-shown.ts.
 */
import type { CallbackKind } from '../public/events.ts'
import { ROW_BY_WORD } from '../carriers/status-codes.ts'
import { keysOf } from '../runtime/values.ts'
import { CONVERSATION, REASONS, reportType, type Channel } from './not-shown.ts'
import type { EmulatorSettings } from './options.ts'
import type { Message, Outcome } from './outcomes.ts'
import type { ProjectState } from './projects.ts'
import { drawUuid } from './random.ts'

type Fields = Readonly<Record<string, unknown>>

/** The data that fills a payload. */
interface About {
  readonly project: Pick<ProjectState, 'name' | 'phoneNumber' | 'shortcode'>
  readonly channels: Readonly<Record<Channel, string>>
  /** Unique to this callback. */
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: number
}

interface TriggerRow {
  /** The kind of callback URL. */
  readonly kind: CallbackKind
  readonly what: string
  readonly payload: (about: About) => Fields
}

const CUSTOMER = '999100000000'
const CURRENCY = 'KES'

function received(channel: 'sms' | 'chat-app', what: string): TriggerRow {
  const payload = ({ project, channels, id, timestamp }: About): Fields => {
    const to = channel === 'sms' ? project.shortcode : project.phoneNumber
    return { project: project.name, id, channel: channels[channel], from: CUSTOMER, to, text: 'Hello', timestamp }
  }
  return { kind: 'received', what, payload }
}

/** Contract, service.md#events: a mobile-money push, C2B or paybill transaction completes or fails. */
function payment(type: 'push' | 'c2b' | 'paybill', status: 'completed' | 'failed', what: string): TriggerRow {
  const terms = { type, amount: 100, currency: CURRENCY, phone: CUSTOMER, reference: 'INV-1', status }
  return {
    kind: 'payment',
    what,
    payload: ({ project, id, timestamp }) => ({ project: project.name, id, ...terms, timestamp }),
  }
}

function premium(event: string, what: string, more: (about: About) => Fields = () => ({})): TriggerRow {
  const payload = (about: About): Fields => {
    const { project, timestamp } = about
    const { name, shortcode } = project
    return { project: name, event, phone: CUSTOMER, shortcode, keyword: 'NEWS', timestamp, ...more(about) }
  }
  return { kind: 'subscription', what, payload }
}

/** Every trigger. Its name begins with the event type that a receiver derives. Contract, service.md#events. */
export const TRIGGERS = {
  received: received('sms', 'The same as `received.sms`.'),
  'received.sms': received('sms', 'A customer writes to the shortcode.'),
  'received.chat-app': received('chat-app', 'A customer writes to the chat-app number.'),
  payment: payment('c2b', 'completed', 'The same as `payment.c2b.completed`.'),
  'payment.push.completed': payment('push', 'completed', 'A mobile-money push completes.'),
  'payment.push.failed': payment('push', 'failed', 'A mobile-money push fails.'),
  'payment.c2b.completed': payment('c2b', 'completed', 'A C2B transaction completes.'),
  'payment.c2b.failed': payment('c2b', 'failed', 'A C2B transaction fails.'),
  'payment.paybill.completed': payment('paybill', 'completed', 'A paybill transaction completes.'),
  'payment.paybill.failed': payment('paybill', 'failed', 'A paybill transaction fails.'),
  'subscription.activate': premium('activate', 'A customer subscribes by texting the keyword.'),
  'subscription.deactivate': premium('deactivate', 'A customer unsubscribes.'),
  'subscription.consent': premium('consent', 'The carrier confirms the customer’s consent.'),
  'subscription.delivery': premium('delivery', 'A premium message was delivered.', ({ id }) => ({
    messageId: id,
    status: 'success',
  })),
  'subscription.billing': premium('billed', 'A customer is billed.', () => ({ amount: 10, currency: CURRENCY })),
  'subscription.other': premium('renewal_reminder', 'A premium event with an undocumented word.'),
} as const satisfies Readonly<Record<string, TriggerRow>>

/** The first argument of `emulator.trigger`. */
export type TriggerName = keyof typeof TRIGGERS

/** The names in order. */
export const TRIGGER_NAMES = keysOf(TRIGGERS)

/** The payload of a trigger with these fields. */
export function triggerPayload(name: TriggerName, about: About, fields: Fields): Fields {
  return { ...TRIGGERS[name].payload(about), ...fields }
}

interface PayloadParts extends Pick<EmulatorSettings, 'seed' | 'network'> {
  readonly message: Message
  readonly outcome: Outcome
  readonly project: ProjectState
  /** The reported status. */
  readonly word: string
  /** Unix seconds of the change of state. */
  readonly timestamp: number
}

/** A report: the Message Status callback, or a premium delivery report. */
export function statusPayload(parts: PayloadParts): Fields {
  const { channel } = parts.message
  if (channel === 'chat-app') return chatAppDelivery(parts)
  return channel.startsWith('premium') ? premiumDelivery(parts) : smsDelivery(parts)
}

/** Contract, service.md#sms-delivery-callback. */
function smsDelivery({ network, message, outcome, project, word, timestamp }: PayloadParts): Fields {
  const { carrier = 'carrierA', reason: description = REASONS.carrierB.description } = outcome
  const row = ROW_BY_WORD.get(word)
  return {
    project: project.name,
    messageId: message.id,
    channel: message.channelName,
    status: word,
    ...(row && { statusCode: String(row.code) }),
    ...(carrier === 'carrierB' && word !== 'delivered' && { description, status_code: REASONS.carrierB.statusCode }),
    network: network.names[carrier],
    type: reportType(message.type),
    timestamp,
  }
}

/** Contract, service.md#chat-app-delivery-callback: it carries no timestamp. */
function chatAppDelivery({ seed, message, outcome, project, word, timestamp }: PayloadParts): Fields {
  const conversation = {
    conversation_id: drawUuid(seed, 'conversation', project.name, message.to),
    expiration_timestamp: String(timestamp + CONVERSATION.lifeSeconds),
    category: CONVERSATION.category,
  }
  const rest = word === 'failed' ? { error: outcome.reason ?? REASONS.chatApp } : conversation
  return {
    project: project.name,
    channel: message.channelName,
    phone_number: project.phoneNumber,
    statuses: { recipient: message.to, message_id: message.id, status: word, type: 'status', ...rest },
  }
}

/** Contract, service.md#premium-sms-callbacks, `delivery`; its fields are not shown. */
function premiumDelivery({ message, project, word, timestamp }: PayloadParts): Fields {
  const { name, shortcode } = project
  const about = { project: name, event: 'delivery', phone: message.to, shortcode }
  return { ...about, messageId: message.id, status: word, timestamp }
}
