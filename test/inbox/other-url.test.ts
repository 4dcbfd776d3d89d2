/** The same callback at the URL of another kind, and delivery reports that are registered there. */
import { createReceiver, type CallbackKind, type WebhookEvent } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { onEachStore } from '../support/each-store.ts'
import { CREDENTIALS, SIGNING_SECRET } from '../support/receiving.ts'
import type { Store } from 'messaging-webhooks/store'

type Url = CallbackKind | undefined

function receiverWith(store?: Store) {
  const { logger, of } = logging()
  const receiver = createReceiver({ credentials: CREDENTIALS, spool: false, logger, ...(store && { store }) })
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  /** Each call sends exactly these bytes and this signature. */
  const sender = (body: object) => {
    const text = JSON.stringify(body)
    const headers = { 'x-service-signature': signCallback(text, SIGNING_SECRET) }
    return async (kind: Url): Promise<void> => {
      const answer = await receiver.receive({ kind, method: 'POST', headers, body: Buffer.from(text) })
      expect(answer.status).toBe(204)
      expect(await receiver.drain({ deadlineMs: 10_000 })).toBe(true)
    }
  }
  return { receiver, events, sender, of }
}

const SMS = callback.smsDelivery({ messageId: 'm-1' })
const CHAT = callback.chatApp({ statuses: { message_id: 'c-1', status: 'delivered' } })
const URLS: readonly Url[] = ['received', 'payment', 'subscription', undefined]

describe.each(onEachStore)('on %s', (_, make) => {
  test.each<readonly [what: string, body: object, own: CallbackKind, others: readonly Url[]]>([
    ['an SMS report', SMS, 'status', URLS],
    ['an SMS report with a field of its own', { ...SMS, cost: 1 }, 'status', URLS],
    ['a chat-app report', CHAT, 'status', URLS],
    ['a payment', callback.payment(), 'payment', ['received', 'subscription', 'status', undefined]],
    ['a received message', callback.received(), 'received', ['payment', 'subscription', 'status', undefined]],
    ['a subscription', callback.subscription(), 'subscription', ['payment', 'received', 'status', undefined]],
  ])('%s that is replayed to other URLs is a duplicate', async (_what, body, own, others) => {
    const { receiver, events, sender, of } = receiverWith(make())
    const send = sender(body)
    for (const kind of [own, ...others]) await send(kind)
    expect(events.map(({ type }) => type)).toHaveLength(1)
    expect(await receiver.stats()).toMatchObject({ accepted: 5, duplicates: 4 })
    expect(of('kind_differs')).toEqual([])
  })

  test('a report at the URL of another kind is unrecognized and reported once, and still counts at its own', async () => {
    const { events, sender, of } = receiverWith(make())
    const send = sender(SMS)
    await send('payment')
    await send('payment')
    await sender(CHAT)('payment')
    await send('status')
    expect(events).toMatchObject([
      { type: 'unrecognized', problem: 'kind_differs', kind: 'payment', data: { messageId: 'm-1' } },
      { type: 'unrecognized', problem: 'kind_differs', kind: 'payment' },
      { type: 'message.delivered', messageId: 'm-1' },
    ])
    expect(of('kind_differs')).toMatchObject([{ level: 'warn', fields: { code: 'kind_differs' } }])
    expect(of('kind_differs')[0]?.text).toContain('The URL is of kind `payment`.')
  })
})

test('a payment and a premium delivery of the message, status and time of a report are events of their own', async () => {
  const { receiver, events, sender } = receiverWith()
  const about = { messageId: 'm-1', status: 'success', timestamp: SMS['timestamp'], project: SMS['project'] }
  await sender({ ...about, channel: 'premium-sms' })('status')
  await sender({ ...about, event: 'delivery' })('subscription')
  await sender({ ...about, amount: 5 })('payment')
  expect(events.map(({ type }) => type)).toEqual(['message.delivered', 'subscription.delivery', 'payment'])
  expect(await receiver.stats()).toMatchObject({ accepted: 3, duplicates: 0 })
})

test.each<readonly [type: string, kind: CallbackKind, body: object]>([
  ['payment', 'payment', { messageId: 'p-1', status: 'success', channel: 'mobile-money', network: 'carrier-a' }],
  ['payment', 'payment', { ...SMS, type: 'paybill', amount: 100 }],
  ['received', 'received', { messageId: 'r-1', channel: 'sms', status: 'received', from: '254711000000', text: 'YES' }],
  ['subscription.delivery', 'subscription', { ...SMS, type: 'delivery' }],
  ['subscription.other', 'subscription', { messageId: 's-1', status: 'success', channel: 'premium' }],
  ['unrecognized', 'subscription', SMS],
  ['unrecognized', 'received', { ...SMS, type: 'bulkDelivery', cost: 1 }],
])('%s at the URL of %s: %j', async (type, kind, body) => {
  const { events, sender } = receiverWith()
  await sender(body)(kind)
  expect(events.map((event) => event.type)).toEqual([type])
})
