/** What the service sends: every kind of callback, and the ways in which they go wrong. */
import type { CallbackKind } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'

export interface Callback {
  readonly kind: CallbackKind
  /** For the screen: whom it is about, and what it says. */
  readonly id: string
  readonly what: string
  readonly body: Record<string, unknown>
  /** Made by somebody who knows neither the key nor the secret. */
  readonly forged?: boolean
  /** How long ago it was signed. */
  readonly ageSeconds?: number
}

const now = Math.floor(Date.now() / 1_000)
const phone = '254711000000'

function sms(network: string, status: string, id: string, fields: Record<string, unknown> = {}): Callback {
  const body = callback.smsDelivery({ network, status, messageId: id, timestamp: now, ...fields })
  return { kind: 'status', id, what: `${network} ${status}`, body }
}

function chatApp(status: string, id: string, fields: Record<string, unknown> = {}): Callback {
  const body = callback.chatApp({ statuses: { status, message_id: id, ...fields } })
  return { kind: 'status', id, what: `chat-app ${status}`, body }
}

function premium(event: string): Callback {
  return { kind: 'subscription', id: phone, what: event, body: callback.subscription({ event, phone }) }
}

const delivered = sms('carrier-a', 'success', 'sms-1')
const read = chatApp('read', 'chat-1')
const text = callback.received({ from: phone, text: 'Is it still there?' })
const payment = callback.payment({ id: 'pay-1', amount: 1_250 })

export const scenes: readonly { readonly title: string; readonly callbacks: readonly Callback[] }[] = [
  {
    title: 'SMS: two carriers, one vocabulary',
    callbacks: [
      delivered,
      sms('carrier-a', 'network_failure', 'sms-2'),
      sms('carrier-a', 'absent_subscriber', 'sms-3'),
      sms('carrier-b', 'delivered', 'sms-4'),
      sms('carrier-b', 'failed', 'sms-5', { description: 'number not in use' }),
    ],
  },
  {
    title: 'Chat-app: what overtakes waits, so that handlers see sent, delivered, read',
    callbacks: [
      read,
      chatApp('delivered', 'chat-1'),
      chatApp('sent', 'chat-1'),
      chatApp('failed', 'chat-2', { error: 'outside the 24-hour window' }),
    ],
  },
  { title: 'The same callbacks once more: nothing runs twice', callbacks: [delivered, read] },
  {
    title: 'An older report after a newer one: it comes as `late`, never as itself',
    callbacks: [
      sms('carrier-a', 'success', 'sms-6'),
      sms('carrier-a', 'network_failure', 'sms-6', { timestamp: now - 90 }),
    ],
  },
  {
    title: 'A customer writes and pays; the payment handler fails once and is tried again',
    callbacks: [
      { kind: 'received', id: phone, what: 'a text message', body: text },
      { kind: 'payment', id: 'pay-1', what: 'a mobile-money push', body: payment },
    ],
  },
  {
    title: 'Premium SMS: a subscription from its first to its last day',
    callbacks: [premium('activate'), premium('consent'), premium('delivery'), premium('deactivate')],
  },
  {
    title: 'Not from the service, or not from now: refused, and you hear why',
    callbacks: [
      { ...sms('carrier-a', 'success', 'sms-7'), what: 'forged: signed with a guess', forged: true },
      { ...sms('carrier-a', 'success', 'sms-8'), what: 'stale: signed 10 minutes ago', ageSeconds: 600 },
    ],
  },
  {
    title: 'From the service, but in a word that nobody knows: kept and handed over all the same',
    callbacks: [sms('carrier-a', 'left_with_neighbour', 'sms-9')],
  },
]
