/** Callbacks that no send leads to, against a real receiver with the default options. */
import { createReceiver, CALLBACK_KINDS, type WebhookEvent } from 'messaging-webhooks'
import { TRIGGER_NAMES, TRIGGERS } from 'messaging-webhooks/emulator'
import express from 'express'
import http from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../support/receiving.ts'
import { AUTH_KEY, collecting, emulating, SHOP, SIGNING_SECRET } from './emulating.ts'

async function received() {
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }, logger: false })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const app = express()
  for (const kind of CALLBACK_KINDS) app.use(`/${kind}`, receiver.middleware(kind, { proof: 'both' }))
  const server = http.createServer(app)
  const url = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await receiver.close({ deadlineMs: 100 })
  })
  const callbackUrls = Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, url + kind]))
  const { emulator } = await emulating({ callbackUrls, shortcode: '40400' }, { clock: () => Date.now() })
  return { emulator, events, receiver }
}

test('each trigger comes to a receiver as the event of its name', async () => {
  const { emulator, events, receiver } = await received()
  for (const name of TRIGGER_NAMES)
    expect(await emulator.trigger(name)).toMatchObject([{ kind: TRIGGERS[name].kind, status: 204, intact: true }])
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  expect(events.map(({ type }) => type).toSorted()).toEqual([...TRIGGER_NAMES].toSorted())
  expect(events.map(({ proof }) => proof)).toEqual(events.map(() => 'both'))
})

test('there is one for each event that the contract names', () => {
  expect(TRIGGER_NAMES).toEqual([
    'received',
    'payment',
    'subscription.activate',
    'subscription.deactivate',
    'subscription.consent',
    'subscription.billing',
    'subscription.delivery',
  ])
})

test('two triggers are two events; the same fields twice are one', async () => {
  const { emulator, events, receiver } = await received()
  await emulator.trigger('payment')
  await emulator.trigger('payment')
  await emulator.trigger('payment', { id: 'p-1', timestamp: 1_700_000_000 })
  await emulator.trigger('payment', { id: 'p-1', timestamp: 1_700_000_000 })
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  expect(events).toHaveLength(3)
})

test('fields replace those of the payload, and add to them', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator } = await emulating({ callbackUrls, shortcode: '40400' }, { clock: () => 1_700_000_000_000 })
  await emulator.trigger('received', { text: 'STOP', extra: { nested: true } })
  expect(collected.map(({ body }) => body)).toEqual([
    {
      project: SHOP,
      id: expect.any(String) as string,
      channel: 'sms',
      from: '999100000000',
      to: '40400',
      text: 'STOP',
      timestamp: 1_700_000_000,
      extra: { nested: true },
      authKey: AUTH_KEY,
    },
  ])
})

test('a callback of your own goes out as you wrote it, with the proofs', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator } = await emulating({ callbackUrls })
  const payload = {
    project: SHOP,
    messageId: 'm-1',
    channel: 'sms',
    status: 'left_with_neighbour',
    deep: [1, { a: null }],
  }
  expect(await emulator.callback('status', payload)).toMatchObject([{ kind: 'status', payload, status: 204 }])
  expect(collected.map(({ path, body }) => ({ path, body }))).toEqual([
    { path: '/status', body: { ...payload, authKey: AUTH_KEY } },
  ])
})
