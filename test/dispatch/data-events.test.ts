import type { ReceiverOptions, WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
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
