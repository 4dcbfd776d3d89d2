/** The time of an event comes from its payload, else from its signature; without both it stays unknown. */
import type { WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

const NOW = 1_760_000_000

async function timing(kind: 'status' | 'payment') {
  let nowMs = NOW * 1_000
  const { receiver, url } = await receiving({ clock: () => nowMs }, { kind })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  return {
    receiver,
    url,
    events,
    later: (seconds: number) => void (nowMs += seconds * 1_000),
    /** Proved by its authKey alone, which has no time. */
    async unsigned(body: object): Promise<void> {
      const text = JSON.stringify({ ...body, authKey: AUTH_KEY })
      expect((await fetch(url, { method: 'POST', body: text })).status).toBe(204)
    },
  }
}

const UNKNOWN = { occurredAt: undefined, timestamp: undefined, timestampSource: 'arrival' }

test('without a time in payload or signature, only the arrival time is known', async () => {
  const { receiver, events, unsigned } = await timing('payment')
  await unsigned({ amount: 5 })
  await receiver.drain()
  expect(events).toMatchObject([{ ...UNKNOWN, receivedAt: new Date(NOW * 1_000) }])
  expect(JSON.parse(JSON.stringify(events[0]))).not.toHaveProperty('occurredAt')
})

test('the state of a message has no time either, and the arrival decides its order', async () => {
  const { receiver, later, unsigned } = await timing('status')
  const report = (status: string) => callback.smsDelivery({ messageId: 'm-1', status, timestamp: undefined })
  await unsigned(report('success'))
  later(5)
  await unsigned(report('delivery_impossible'))
  const state = await receiver.messageState('m-1')
  expect(state).toMatchObject({ ...UNKNOWN, type: 'message.failed', receivedAt: new Date((NOW + 5) * 1_000) })
  expect(state?.reports).toMatchObject([
    { ...UNKNOWN, receivedAt: new Date(NOW * 1_000) },
    { ...UNKNOWN, receivedAt: new Date((NOW + 5) * 1_000) },
  ])
})

test.each([
  ['payload', NOW - 60],
  ['signature', NOW - 10],
] as const)('by the %s it is known in both forms', async (timestampSource, timestamp) => {
  const { receiver, url, events } = await timing('status')
  const own = timestampSource === 'payload' ? timestamp : undefined
  await post(url, callback.smsDelivery({ messageId: 'm-1', timestamp: own }), { timestamp: NOW - 10 })
  await receiver.drain()
  const known = { timestamp, timestampSource, occurredAt: new Date(timestamp * 1_000) }
  expect(events).toMatchObject([known])
  expect(await receiver.messageState('m-1')).toMatchObject(known)
})
