/** Callbacks that no send leads to: customers write, pay and subscribe. Their payloads are ours; see not-shown.ts. */
import type { CallbackKind } from '../events.ts'
import type { Channel } from './not-shown.ts'
import type { ProjectState } from './projects.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a payload is made of. */
interface About {
  readonly project: Pick<ProjectState, 'name' | 'phoneNumber' | 'shortcode'>
  /** What a channel is called. */
  readonly nameOf: (channel: Channel) => string
  /** Of this callback alone. */
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: number
}

interface TriggerRow {
  /** Where it is posted to. */
  readonly kind: CallbackKind
  /** In a sentence. */
  readonly what: string
  readonly payload: (about: About) => Fields
}

const CUSTOMER = '999100000000'
const KEYWORD = 'NEWS'
const CURRENCY = 'KES'

function received(channel: 'sms' | 'chat-app', what: string): TriggerRow {
  return {
    kind: 'received',
    what,
    payload: ({ project, nameOf, id, timestamp }) => ({
      project: project.name,
      id,
      channel: nameOf(channel),
      from: CUSTOMER,
      to: channel === 'sms' ? project.shortcode : project.phoneNumber,
      text: 'Hello',
      timestamp,
    }),
  }
}

/** Contract, service.md#events: a mobile-money push, C2B or paybill transaction completes or fails. */
function payment(type: 'push' | 'c2b' | 'paybill', status: 'completed' | 'failed', what: string): TriggerRow {
  return {
    kind: 'payment',
    what,
    payload: ({ project, id, timestamp }) => ({
      project: project.name,
      id,
      type,
      amount: 100,
      currency: CURRENCY,
      phone: CUSTOMER,
      reference: 'INV-1',
      status,
      timestamp,
    }),
  }
}

function premium(event: string, what: string, more: (about: About) => Fields = () => ({})): TriggerRow {
  return {
    kind: 'subscription',
    what,
    payload: (about) => ({
      project: about.project.name,
      event,
      phone: CUSTOMER,
      shortcode: about.project.shortcode,
      keyword: KEYWORD,
      timestamp: about.timestamp,
      ...more(about),
    }),
  }
}

/** Every trigger by its name, which begins with the event type that a receiver makes of it. Contract, service.md#events. */
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
  'subscription.other': premium('renewal_reminder', 'A premium event of a word that nobody documents.'),
} as const satisfies Readonly<Record<string, TriggerRow>>

/** What `emulator.trigger` takes. */
export type TriggerName = keyof typeof TRIGGERS

/** The names, for lists and checks. `Object.keys` of a constant gives its keys and no others. */
export const TRIGGER_NAMES = Object.keys(TRIGGERS) as readonly TriggerName[]

/** The payload of a trigger, with fields replaced and added. */
export function triggerPayload(name: TriggerName, about: About, fields: Fields): Fields {
  return { ...TRIGGERS[name].payload(about), ...fields }
}
