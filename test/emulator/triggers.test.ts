/** Callbacks without a send, against a real receiver with the default options. */
import { createReceiver, CALLBACK_KINDS, EVENT_TYPES, type WebhookEvent } from 'messaging-webhooks'
import { NOT_SHOWN, TRIGGER_NAMES, TRIGGERS, type EmulatorOptions } from 'messaging-webhooks/emulator'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { CREDENTIALS, serve } from '../support/receiving.ts'
import { AUTH_KEY, collecting, emulating, SHOP } from './emulating.ts'

async function received(options: Omit<EmulatorOptions, 'projects'> = {}) {
  const receiver = createReceiver({ credentials: CREDENTIALS, logger: false })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const app = express()
  for (const kind of CALLBACK_KINDS) app.use(`/${kind}`, receiver.middleware(kind, { proof: 'both' }))
  onTestFinished(() => receiver.close({ deadlineMs: 100 }))
  const url = await serve(app)
  const callbackUrls = Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, url + kind]))
  const { emulator } = await emulating({ callbackUrls, shortcode: '40400' }, { clock: () => Date.now(), ...options })
  return { emulator, events, receiver }
}

test('a receiver turns each trigger into the event that its name begins with', async () => {
  const { emulator, events, receiver } = await received()
  for (const name of TRIGGER_NAMES)
    expect(await emulator.trigger(name)).toMatchObject([{ kind: TRIGGERS[name].kind, status: 204, intact: true }])
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  const typeOf = (name: string): string => (name.startsWith('subscription.') ? name : name.split('.')[0]) ?? ''
  expect(events.map(({ type }) => type).toSorted()).toEqual(TRIGGER_NAMES.map(typeOf).toSorted())
  expect(events.map(({ proof }) => proof)).toEqual(events.map(() => 'both'))
  for (const type of EVENT_TYPES.filter((each) => /^(received|payment|subscription)/.test(each)))
    expect(TRIGGER_NAMES).toContain(type)
})

test('a payment has its transaction and its outcome', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator } = await emulating({ callbackUrls })
  const names = TRIGGER_NAMES.filter((name) => name.startsWith('payment.'))
  for (const name of names) await emulator.trigger(name)
  expect(collected.map(({ path, body }) => [path, ['payment', body['type'], body['status']].join('.')])).toEqual(
    names.map((name) => ['/payment', name]),
  )
})

test('a customer’s message comes over the chat-app, by its name, or by SMS', async () => {
  const { emulator, events, receiver } = await received({ channels: { 'chat-app': 'telegraph' } })
  emulator.configure({ phoneNumber: '999300001234' })
  await emulator.trigger('received.chat-app')
  await emulator.trigger('received.sms')
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  expect(events.map(({ payload }) => payload)).toMatchObject([
    { channel: 'telegraph', to: '999300001234' },
    { channel: 'sms', to: '40400' },
  ])
})

test('lists every field of a payload among those the service does not document', async () => {
  const { collected, callbackUrls } = await collecting()
  const { emulator } = await emulating({ callbackUrls })
  for (const name of TRIGGER_NAMES) {
    collected.length = 0
    const [delivery] = await emulator.trigger(name)
    const of = { received: 'a received message', payment: 'a payment', subscription: 'a premium event', status: '' }
    const { choice = '' } = NOT_SHOWN.find(({ what }) => what === `Payload of ${of[delivery?.kind ?? 'status']}`) ?? {}
    const shown = new Set(Array.from(choice.matchAll(/`([^`]+)`/g), ([, field]) => field))
    const fields = Object.keys(collected[0]?.body ?? {}).filter((field) => field !== 'authKey')
    expect(fields.length).toBeGreaterThan(0)
    expect(
      fields.filter((field) => !shown.has(field)),
      name,
    ).toEqual([])
  }
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

test('fields replace or extend those of the payload', async () => {
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

test('a custom callback goes out unchanged, with the proofs', async () => {
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
