import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ReceiverOptions, WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { logging } from '../support/logging.ts'
import { post, receiving } from '../support/receiving.ts'

/** The events that one callback to a URL of this kind produces. */
async function eventsOf(
  kind: 'received' | 'payment' | 'subscription',
  body: object,
  options: Partial<ReceiverOptions> = {},
): Promise<readonly WebhookEvent[]> {
  const { receiver, url } = await receiving(options, { kind })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  expect((await post(url, body)).status).toBe(204)
  await receiver.drain()
  return events
}

describe('a schema', () => {
  const body = callback.payment({ amount: '100' })
  const schemas = {
    zod: z.object({ amount: z.coerce.number() }),
    valibot: v.object({ amount: v.pipe(v.string(), v.transform(Number)) }),
    'zod, asynchronous': z.object({ amount: z.coerce.number().refine(async () => Promise.resolve(true)) }),
  }

  test.each(Object.entries(schemas))(
    'of %s gives `data` its own form and leaves the payload unchanged',
    async (_, payment) => {
      expect(await eventsOf('payment', body, { schemas: { payment } })).toMatchObject([
        { type: 'payment', data: { amount: 100 }, payload: body },
      ])
    },
  )

  const price = z.object({ items: z.array(z.object({ price: z.number() })) })
  const byNumber = z.record(z.string(), z.object({ paid: z.boolean() }))
  const many = z.object(Object.fromEntries(Array.from({ length: 12 }, (_, nth) => [`field${nth}`, z.string()])))
  const deep = (left: number): z.ZodType => (left === 0 ? z.never() : z.object({ a: deep(left - 1) }))
  const nested = JSON.parse(`${'{"a":'.repeat(10)}1${'}'.repeat(10)}`) as object

  test.each<[string, ReceiverOptions['schemas'], object, readonly string[]]>([
    ['a field', { payment: schemas.zod }, { amount: 'a lot' }, ['data.amount']],
    ['a field, by valibot', { payment: schemas.valibot }, { amount: 1 }, ['data.amount']],
    ['an entry of a list', { payment: price }, { items: [{ price: 1 }, { price: '2' }] }, ['data.items.1.price']],
    ['the whole', { payment: z.object({}).refine(() => false) }, {}, ['data']],
    ['keys that are a phone number', { payment: byNumber }, { '+254700000001': { paid: 'yes' } }, ['data.*.paid']],
    ['twelve fields', { payment: many }, {}, Array.from({ length: 10 }, (_, nth) => `data.field${nth}`)],
    ['a field at the tenth level', { payment: deep(10) }, nested, [`data${'.a'.repeat(8)}`]],
    ['a long key', { payment: z.record(z.string(), z.never()) }, { ['x'.repeat(41)]: 1 }, ['data.*']],
  ])('that refuses %s: the event and the log name the path, without a value', async (_what, own, body, paths) => {
    const { logger, of } = logging()
    const { receiver, url } = await receiving({ schemas: own, logger }, { kind: 'payment' })
    expect((await post(url, body)).status).toBe(204)
    await receiver.drain()
    expect(of('unrecognized_unhandled')).toMatchObject([
      { fields: { problem: 'schema_refused', paths }, text: expect.stringContaining(paths.join(', ')) as string },
    ])
    expect(JSON.stringify(of('unrecognized_unhandled'))).not.toMatch(/a lot|\+254/)
    expect(await eventsOf('payment', body, { schemas: own })).toMatchObject([{ type: 'unrecognized', paths }])
  })

  test.each<[string, unknown]>([
    ['no list', 'a lot'],
    ['no issue', []],
    ['a getter that throws', [Object.defineProperty({}, 'path', { get: () => expect.unreachable() })]],
  ])('whose issues are %s refuses, without paths', async (_what, issues) => {
    const validate = () => ({ issues: issues as [] })
    const payment: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'own', validate } }
    const [event] = await eventsOf('payment', {}, { schemas: { payment } })
    expect(event).toMatchObject({ type: 'unrecognized', problem: 'schema_refused' })
    expect(event).not.toHaveProperty('paths')
  })

  test('runs again when a dead letter is replayed', async () => {
    let accepts = false
    const payment = z.object({}).refine(() => accepts)
    const { receiver, url } = await receiving({ schemas: { payment }, retry: { attempts: 1 } }, { kind: 'payment' })
    const types: string[] = []
    receiver.onAny(({ type }) => {
      types.push(type)
      if (type === 'unrecognized') throw new Error('fix the schema first')
    })
    await post(url, body)
    await receiver.drain()
    accepts = true
    const [letter] = (await receiver.deadLetters.list()).items
    expect(letter?.event.type).toBe('payment')
    await receiver.deadLetters.replay(letter?.id ?? '')
    await receiver.drain()
    expect(types).toEqual(['unrecognized', 'payment'])
  })
})

describe('a premium callback', () => {
  test('has the type that subscriptionType returns, else the type in its body', async () => {
    const subscriptionType: ReceiverOptions['subscriptionType'] = ({ code }) =>
      code === 7 ? 'consent' : code === 8 ? 'other' : undefined
    expect(await eventsOf('subscription', { code: 7, event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'subscription.consent' },
    ])
    expect(await eventsOf('subscription', { code: 8, event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'subscription.other', word: 'activate' },
    ])
    expect(await eventsOf('subscription', { event: 'activate' }, { subscriptionType })).toMatchObject([
      { type: 'subscription.activate' },
    ])
  })

  test('uses the schema of its own type, else the schema of all types', async () => {
    const schemas = {
      'subscription.consent': z.object({ event: z.string(), own: z.literal(1) }),
      subscription: z.object({ event: z.string(), all: z.literal(1) }),
    }
    expect(await eventsOf('subscription', { event: 'consent', own: 1 }, { schemas })).toMatchObject([
      { type: 'subscription.consent' },
    ])
    expect(await eventsOf('subscription', { event: 'consent', all: 1 }, { schemas })).toMatchObject([
      { type: 'unrecognized', problem: 'schema_refused' },
    ])
    expect(await eventsOf('subscription', { event: 'renew', all: 1 }, { schemas })).toMatchObject([
      { type: 'subscription.other' },
    ])
  })
})
