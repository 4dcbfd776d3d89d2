import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Options, UnrecognizedEvent, WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fakeClock } from '../support/fake-clock.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

/** The events that one callback to a URL of this kind becomes. */
async function eventsOf(
  kind: 'received' | 'payment' | 'subscription',
  body: object,
  options: Partial<Options> = {},
): Promise<readonly WebhookEvent[]> {
  const { receiver, url } = await receiving(options, { kind })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  expect((await post(url, body)).status).toBe(204)
  await receiver.drain()
  return events
}

test.each(['received', 'payment'] as const)('a %s callback without a schema is its payload', async (kind) => {
  const body = callback[kind]()
  expect(await eventsOf(kind, body)).toMatchObject([{ type: kind, data: body, payload: body, proof: 'both' }])
})

const standard = (validate: StandardSchemaV1['~standard']['validate']): StandardSchemaV1 => ({
  '~standard': { version: 1, vendor: 'the tests', validate },
})

describe('a schema', () => {
  const body = callback.payment({ amount: '100' })
  const schemas = {
    zod: z.object({ amount: z.coerce.number() }),
    valibot: v.object({ amount: v.pipe(v.string(), v.transform(Number)) }),
    'zod, asynchronous': z.object({ amount: z.coerce.number().refine(async () => Promise.resolve(true)) }),
  }

  test.each(Object.entries(schemas))(
    'of %s gives `data` its own form and leaves the payload as it came',
    async (_, payment) => {
      expect(await eventsOf('payment', body, { schemas: { payment } })).toMatchObject([
        { type: 'payment', data: { amount: 100 }, payload: body },
      ])
    },
  )

  const refusing: Readonly<Record<string, readonly [schema: StandardSchemaV1, problem: string]>> = {
    'that refuses': [z.object({ amount: z.literal(AUTH_KEY) }), 'schema_refused'],
    'that refuses later': [z.object({}).refine(async () => Promise.resolve(false)), 'schema_refused'],
    'that throws': [
      z.object({}).transform(() => {
        throw new Error(AUTH_KEY)
      }),
      'schema_failed',
    ],
    'that rejects': [standard(() => Promise.reject(new Error(AUTH_KEY))), 'schema_failed'],
  }
  test.each(Object.entries(refusing))('%s makes the event `unrecognized`', async (_what, [payment, problem]) => {
    expect(await eventsOf('payment', body, { schemas: { payment } })).toMatchObject([
      { type: 'unrecognized', kind: 'payment', data: body, payload: body, problem },
    ])
  })

  test('that never answers makes the event `unrecognized` after handlerTimeoutMs', async () => {
    const clock = fakeClock()
    const payment = z.object({}).transform(() => new Promise(() => {}))
    const options = { clock, handlerTimeoutMs: 2_000, schemas: { payment } }
    const { receiver, url } = await receiving(options, { kind: 'payment' })
    const problems: unknown[] = []
    receiver.on('unrecognized', ({ problem }) => void problems.push(problem))
    await post(url, body)
    await clock.advance(1_999)
    expect(problems).toEqual([])
    await clock.advance(1)
    expect(problems).toEqual(['schema_failed'])
  })

  test('runs again when a dead letter is replayed', async () => {
    let accepts = false
    const payment = z.object({}).refine(() => accepts)
    const { receiver, url } = await receiving({ schemas: { payment }, retry: { attempts: 1 } }, { kind: 'payment' })
    const types: string[] = []
    receiver.onAny(({ type }) => {
      types.push(type)
      if (type === 'unrecognized') throw new Error('mend the schema first')
    })
    await post(url, body)
    await receiver.drain()
    accepts = true
    const [letter] = (await receiver.deadLetters()).items
    expect(letter?.event.type).toBe('payment')
    await receiver.replay(letter?.id ?? '')
    await receiver.drain()
    expect(types).toEqual(['unrecognized', 'payment'])
  })
})

describe('a premium callback', () => {
  test.each(['activate', 'deactivate', 'consent', 'delivery'])('with the word %s anywhere at the top', async (word) => {
    const body = { project: 'My Shop', phone: '254711000000', whatever: word }
    expect(await eventsOf('subscription', body)).toMatchObject([{ type: `subscription.${word}`, data: body }])
  })

  test.each([
    ['none of the words', { event: 'renew' }],
    ['a word only inside', { data: { event: 'activate' } }],
    ['two words', { event: 'activate', kind: 'delivery' }],
  ])('with %s is unrecognized', async (_what, fields) => {
    expect(await eventsOf('subscription', fields)).toMatchObject([
      { type: 'unrecognized', kind: 'subscription', data: fields, problem: 'unknown_subscription' },
    ])
  })

  test('is what subscriptionType says', async () => {
    const subscriptionType: Options['subscriptionType'] = ({ code }) => (code === 7 ? 'consent' : undefined)
    expect(await eventsOf('subscription', { code: 7, event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'subscription.consent' },
    ])
    expect(await eventsOf('subscription', { event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'unrecognized', problem: 'unknown_subscription' },
    ])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['says something else', () => 'renew' as 'activate'],
  ])('is unrecognized where subscriptionType %s', async (_what, subscriptionType: Options['subscriptionType']) => {
    expect(await eventsOf('subscription', { event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'unrecognized', problem: 'unknown_subscription' },
    ])
  })
})

test('without a kind, delivery reports are recognised by their shape and all else is unrecognized', async () => {
  const { receiver, url } = await receiving()
  const events: string[] = []
  receiver.onAny((event) => void events.push(event.type === 'unrecognized' ? event.problem : event.type))
  for (const body of [callback.smsDelivery(), callback.chatApp(), callback.payment(), callback.received()])
    await post(url, body)
  await receiver.drain()
  // The chat-app's `delivered` waits for its `sent`.
  expect(events).toEqual(['message.delivered', 'unknown_shape', 'unknown_shape', 'message.delivered'])
})

test('two equal payments are one event, whatever the authKey, and a changed one is another', async () => {
  const credentials = [{ authKey: 'the-old-key' }, { authKey: 'the-new-key' }]
  const { receiver, url } = await receiving({ credentials }, { kind: 'payment' })
  const statuses: unknown[] = []
  receiver.on('payment', ({ data }) => void statuses.push(data['status']))
  const pending = callback.payment({ status: 'pending' })
  for (const fields of [
    { ...pending, authKey: 'the-old-key' },
    { ...pending, authKey: 'the-new-key' },
    { ...pending, status: 'completed', authKey: 'the-new-key' },
  ])
    await fetch(url, { method: 'POST', body: JSON.stringify(fields) })
  await receiver.drain()
  expect(statuses).toEqual(['pending', 'completed'])
})

test.each([
  ['separate', 'late'],
  ['inline', 'message.sent'],
] as const)('with ordering.late %s, a late report comes as %s', async (late, type) => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock, ordering: { late } })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  await post(url, callback.chatApp({ statuses: { message_id: 'one', status: 'delivered' } }))
  await clock.advance(1_000)
  await post(url, callback.chatApp({ statuses: { message_id: 'one', status: 'sent' } }))
  await clock.advance(0)
  expect(events.map((event) => event.type)).toEqual(['message.delivered', type])
  const [, last] = events
  expect(last?.type === 'late' ? last.late : last).toMatchObject({ type: 'message.sent', status: 'sent' })
  expect(await receiver.latest('one')).toMatchObject({ type: 'message.delivered' })
  expect(await receiver.stats()).toMatchObject({ taken: 2, late: 1 })
})

test('what cannot be read has its bytes, and no data', async () => {
  const { receiver, url } = await receiving({}, { kind: 'payment' })
  const events: UnrecognizedEvent[] = []
  receiver.on('unrecognized', (event) => void events.push(event))
  await post(url, 'no JSON at all')
  await receiver.drain()
  expect(events).toMatchObject([{ kind: 'payment', problem: 'not_json', data: undefined, proof: 'signature' }])
  expect(events[0]?.raw.toString()).toBe('no JSON at all')
})
