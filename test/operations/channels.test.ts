/** The diagnostics channels of a receiver, as any subscriber sees them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { ATTEMPT_CHANNEL, CALLBACK_CHANNEL, type AttemptMessage, type CallbackMessage } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'

test('the outcome of each callback, without personal data', async () => {
  const received: CallbackMessage[] = []
  // Other receivers of this process publish there, too.
  const listener = (message: unknown): void => void received.push(message as CallbackMessage)
  subscribe(CALLBACK_CHANNEL, listener)
  onTestFinished(() => void unsubscribe(CALLBACK_CHANNEL, listener))
  const { receiver, url } = await receiving({}, { kind: 'status' })
  const first = callback.smsDelivery({ messageId: 'm1' })
  await post(url, first)
  await post(url, first)
  await post(url, '{}', { headers: { 'x-service-signature': 'wrong' } })
  await post(url, { anything: 1 })
  const ours = received.filter((message) => message.receiver === receiver).map(({ receiver: _, ...rest }) => rest)
  const [{ eventId } = {}] = ours
  expect(eventId).toMatch(/^[\w-]+$/)
  expect(ours).toEqual([
    { kind: 'status', outcome: 'new', eventId, messageId: 'm1' },
    { kind: 'status', outcome: 'duplicate', eventId, messageId: 'm1' },
    { kind: 'status', outcome: 'refused', code: 'signature_malformed' },
    { kind: 'status', outcome: 'new', eventId: expect.any(String) as string },
  ])
})

test('each attempt is traced: its handlers run within, and its end has the outcome', async () => {
  const retry = { attempts: 2, initialDelayMs: 0, maxDelayMs: 0 }
  const { receiver, url } = await receiving({ retry }, { kind: 'status' })
  const traced = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)
  const spans = new AsyncLocalStorage<string>()
  const said: string[] = []
  const say = (phase: string) => (message: AttemptMessage) => {
    if (message.receiver === receiver)
      said.push([phase, message.event.type, message.attempt, message.outcome ?? ''].join(' ').trim())
  }
  const subscribers = {
    start: say('start'),
    end: say('end'),
    asyncStart: say('asyncStart'),
    asyncEnd: say('asyncEnd'),
    error: (message: AttemptMessage) => {
      say(`error ${message.error instanceof Error ? message.error.message : ''}`)(message)
    },
  }
  traced.subscribe(subscribers)
  traced.start.bindStore(spans, ({ event, attempt }) => `${event.type} ${attempt}`)
  onTestFinished(() => {
    traced.unsubscribe(subscribers)
    traced.start.unbindStore(spans)
  })
  receiver.on('message.delivered', () => void said.push(`in ${spans.getStore() ?? 'none'}`))
  receiver.on('message.failed', async (_event, { attempt }) => {
    await Promise.resolve()
    said.push(`in ${spans.getStore() ?? 'none'}`)
    if (attempt === 1) throw new Error('not yet')
  })
  await post(url, callback.smsDelivery())
  await receiver.drain()
  await post(url, callback.smsDelivery({ status: 'network_failure' }))
  await receiver.drain()
  expect(said).toEqual([
    'start message.delivered 1',
    'in message.delivered 1',
    'end message.delivered 1 succeeded',
    'start message.failed 1',
    'end message.failed 1',
    'in message.failed 1',
    'error not yet message.failed 1 failed',
    'asyncStart message.failed 1 failed',
    'asyncEnd message.failed 1 failed',
    'start message.failed 2',
    'end message.failed 2',
    'in message.failed 2',
    'asyncStart message.failed 2 succeeded',
    'asyncEnd message.failed 2 succeeded',
  ])
})

test('a subscriber that throws affects no callback and no handler', async () => {
  const uncaught: unknown[] = []
  // Node rethrows a subscriber's error on the next turn; here the test receives it.
  const listeners = process.rawListeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
  const traced = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)
  const throwing = (): never => {
    throw new Error('of a subscriber')
  }
  subscribe(CALLBACK_CHANNEL, throwing)
  traced.start.subscribe(throwing)
  onTestFinished(() => {
    unsubscribe(CALLBACK_CHANNEL, throwing)
    traced.start.unsubscribe(throwing)
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener as (error: unknown) => void)
  })
  const { receiver, url } = await receiving({}, { kind: 'status' })
  let handled = 0
  receiver.onAny(() => void (handled += 1))
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  await receiver.drain()
  expect(handled).toBe(1)
  await expect.poll(() => uncaught.length).toBe(2)
})

test('a tracer may run the handlers in its own context; they run exactly once', async () => {
  const { receiver, url, errors } = await receiving({}, { kind: 'status' })
  const held = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  receiver.on('message.*', async () => {
    seen.push(held.getStore())
    await Promise.resolve()
    seen.push(held.getStore())
  })
  let within: AttemptMessage['within']
  const set = (value: unknown): void => {
    const message = value as AttemptMessage
    if (message.receiver === receiver && within !== undefined) message.within = within
  }
  const traced = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)
  traced.start.subscribe(set)
  onTestFinished(() => {
    traced.start.unsubscribe(set)
  })
  const ways: (AttemptMessage['within'] & {})[] = [
    (run) => held.run('inside', run),
    (run) => {
      run()
      run()
    },
    () => {},
    () => {
      throw new Error('before')
    },
    (run) => {
      run()
      throw new Error('after')
    },
  ]
  for (within of ways) {
    await post(url, callback.smsDelivery())
    await receiver.drain()
  }
  expect(seen).toEqual(['inside', 'inside', ...Array.from({ length: 8 }, () => undefined)])
  expect(errors.map(({ code }) => code)).toEqual(['internal', 'internal'])
})
