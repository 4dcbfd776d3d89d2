/** Which handlers run, in what order, and how often. */
import { createReceiver, EVENT_TYPES, MessagingWebhooksError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

test('handlers of one event run in the order of attachment, one after another', async () => {
  const { receiver, url } = await receiving()
  const calls: string[] = []
  receiver.onAny(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    calls.push('any')
  })
  receiver.on('message.delivered', () => void calls.push('type'))
  receiver.on(['message.sent', 'message.delivered'], () => void calls.push('list'))
  receiver.on('message.*', () => void calls.push('family'))
  receiver.on('message.failed', () => void calls.push('another type'))
  await post(url, callback.smsDelivery())
  await receiver.drain()
  expect(calls).toEqual(['any', 'type', 'list', 'family'])
})

test('a retry runs only the handlers that have not succeeded', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock })
  const calls: string[] = []
  receiver.onAny(() => void calls.push('first'))
  receiver.onAny((_event, { attempt }) => {
    calls.push(`second ${attempt}`)
    if (attempt < 3) throw new Error('not yet')
  })
  receiver.onAny(() => void calls.push('third'))
  await post(url, callback.smsDelivery())
  await clock.advance(10_000)
  expect(calls).toEqual(['first', 'second 1', 'third', 'second 2', 'second 3'])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
})

test('the return value of `on` detaches this handler, even between two attempts, and leaves an identical one', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock })
  let calls = 0
  const handler = (): void => {
    calls += 1
    throw new Error('never')
  }
  const off = receiver.on('message.delivered', handler)
  const offTwin = receiver.on('message.delivered', handler)
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(calls).toBe(2)
  off()
  off()
  for (let ms = 0; ms < 1_000 && calls < 3; ms += 1) await clock.advance(1)
  expect(calls).toBe(3)
  offTwin()
  await clock.advance(10_000)
  expect(calls).toBe(3)
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
})

test('the context has the attempt and a signal, and says whether it is a replay', async () => {
  const { receiver, url } = await receiving()
  const contexts: unknown[] = []
  receiver.onAny((_event, context) => void contexts.push(context))
  await post(url, callback.smsDelivery())
  await receiver.drain()
  expect(contexts).toEqual([{ attempt: 1, replay: false, signal: expect.any(AbortSignal) as unknown }])
})

test('a family matches all of its types', async () => {
  const { receiver, url } = await receiving({}, { kind: 'subscription' })
  const types: string[] = []
  receiver.on('subscription.*', ({ type }) => void types.push(type))
  for (const event of ['activate', 'deactivate', 'consent', 'delivery', 'billed', 'renewed'])
    await post(url, callback.subscription({ event }))
  await receiver.drain()
  expect(types).toEqual(EVENT_TYPES.filter((type) => type.startsWith('subscription.')))
})

test.each([
  ['message.delivred', 'message.delivered'],
  ['*', '`onAny(handler)`'],
  ['any', '`onAny(handler)`'],
  ['error', '`onError(handler)`'],
  ['', 'subscription.*'],
  ['payment.*', 'Did you mean "payment"?'],
  ['*.failed', 'subscription.*'],
  ['constructor', 'subscription.*'],
])('on(%j) throws and suggests %s', (pattern, hint) => {
  const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: false })
  const attach = (): unknown => Reflect.apply(receiver.on, undefined, [pattern, () => {}])
  expect(attach).toThrow(MessagingWebhooksError)
  expect(attach).toThrow(hint)
  expect(() => void Reflect.apply(receiver.on, undefined, [['message.sent', pattern], () => {}])).toThrow(hint)
})

test.each([
  ['undefined', undefined],
  ['null', null],
  ['an empty list', []],
  ['a list with undefined', ['message.sent', undefined]],
  ['a number', 7],
  ['an object', { type: 'message.sent' }],
  ['a list in a list', [['message.sent']]],
])('on(%s) throws, and attaches nothing', async (_, pattern) => {
  const { receiver, url } = await receiving()
  const dispatched: unknown[] = []
  const attach = (): unknown =>
    Reflect.apply(receiver.on, undefined, [pattern, (event: unknown) => dispatched.push(event)])
  expect(attach).toThrow(expect.objectContaining({ code: 'pattern_unknown' }) as Error)
  await post(url, callback.smsDelivery())
  await receiver.drain()
  expect(dispatched).toEqual([])
})

test('rejects a handler that is not a function at once', () => {
  const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: false })
  expect(() => void Reflect.apply(receiver.on, undefined, ['message.sent'])).toThrow('not a function')
  expect(() => void Reflect.apply(receiver.onAny, undefined, [{}])).toThrow('not a function')
})

test('delays stay below a ceiling that doubles up to maxDelayMs, and are spread below it', async () => {
  const clock = fakeClock()
  const retry = { attempts: 8, initialDelayMs: 1_000, maxDelayMs: 10_000 }
  const { receiver, url } = await receiving({ clock, retry, concurrency: 100 })
  const attemptedAt = new Map<string, number[]>()
  receiver.onAny(({ id }) => {
    attemptedAt.set(id, [...(attemptedAt.get(id) ?? []), clock.now()])
    throw new Error('never')
  })
  for (let message = 0; message < 30; message += 1) await post(url, callback.smsDelivery())
  await clock.advance(120_000)
  expect(attemptedAt.size).toBe(30)
  const ceilings = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]
  const fractions: number[] = []
  for (const times of attemptedAt.values()) {
    expect(times).toHaveLength(8)
    for (const [index, ceiling] of ceilings.entries()) {
      const delay = (times[index + 1] ?? NaN) - (times[index] ?? NaN)
      expect(delay).toBeGreaterThanOrEqual(0)
      expect(delay).toBeLessThanOrEqual(ceiling)
      fractions.push(delay / ceiling)
    }
  }
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length
  expect(mean).toBeGreaterThan(0.35)
  expect(mean).toBeLessThan(0.65)
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 30 })
})

test('with the defaults an event has fifteen attempts within about an hour and a half at most', async () => {
  const clock = fakeClock()
  const { receiver, url, errors } = await receiving({ clock })
  let calls = 0
  receiver.onAny(() => {
    calls += 1
    throw new Error('never')
  })
  await post(url, callback.smsDelivery())
  await clock.advance(5 * 3_600_000)
  expect(calls).toBe(15)
  expect(errors.map(({ code }) => code)).toEqual([...Array<string>(15).fill('handler_failed'), 'dead_letter'])
})

test('a retry that is due in a month keeps its due time', async () => {
  const clock = fakeClock()
  const month = 2 ** 31 - 1
  const retry = { attempts: 2, initialDelayMs: month, maxDelayMs: month }
  const { receiver, url } = await receiving({ clock, retry })
  let calls = 0
  receiver.onAny(() => {
    calls += 1
    throw new Error('never')
  })
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(calls).toBe(1)
  await clock.advance(month)
  expect(calls).toBe(2)
})
