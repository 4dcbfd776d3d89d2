/** What a test's author gets wrong is said at once, and not by a test that passes or waits. */
import { createServer as createHttpServer } from 'node:http'
import express from 'express'
import { createReceiver } from 'messaging-webhooks'
import { callback, callbackFor, deliver, fakeClock, signCallback, waitFor } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { listen } from '../support/receiving.ts'

const signingSecret = 'secret-of-the-tests'
const silent = () => createReceiver({ credentials: { signingSecret }, logger: false })
const app = () => silent().middleware('status')

/** As JavaScript calls it, past the compiler. */
async function thrownBy(call: (...input: never[]) => unknown, ...input: readonly unknown[]): Promise<unknown> {
  try {
    await Reflect.apply(call, undefined, input)
  } catch (error) {
    return error
  }
  return undefined
}

type Mistakes = readonly (readonly [
  what: string,
  call: (...input: never[]) => unknown,
  input: () => readonly unknown[],
  says: string,
])[]

const body = () => callback.smsDelivery()
const clock = fakeClock()

const MISTAKES: Mistakes = [
  [
    'a receiver for an app',
    deliver,
    () => [silent(), body()],
    "deliver: got a receiver. Pass your app, or its middleware, such as receiver.middleware('status')",
  ],
  [
    'nothing for an app',
    deliver,
    () => [undefined, body()],
    'deliver: the app is undefined; expected an app, a listener or a server',
  ],
  ['a URL for an app', deliver, () => ['http://127.0.0.1:9', body()], 'deliver: the app is a string'],
  ['a middleware without parentheses', deliver, () => [silent().middleware, body()], 'Mount its result'],
  [
    'a builder for a callback',
    deliver,
    () => [app(), callback.smsDelivery],
    'deliver: the callback is a function; expected an object',
  ],
  ['no callback', deliver, () => [app()], 'deliver: the callback is undefined'],
  [
    'a misspelt secret',
    deliver,
    () => [app(), body(), { signingsecret: 'x' }],
    'Invalid option for deliver: signingsecret. Did you mean signingSecret?',
  ],
  [
    'a path that is none',
    deliver,
    () => [app(), body(), { path: 'status' }],
    'path is a string; expected a string that begins with /',
  ],
  [
    'a header that is a number',
    deliver,
    () => [app(), body(), { headers: { 'x-turn': 7 } }],
    'headers.x-turn is a number; expected a string',
  ],
  [
    'a misspelt event',
    waitFor,
    () => [silent(), 'message.deliverd'],
    'Got "message.deliverd". Did you mean "message.delivered"?',
  ],
  [
    'an app for a receiver',
    waitFor,
    () => [express(), 'payment'],
    'waitFor: the receiver is a function; expected what createReceiver returned',
  ],
  ['options for an id', waitFor, () => [silent(), 'payment', { timeoutMs: 5 }], 'waitFor: the message id is an object'],
  [
    'a misspelt time-out',
    waitFor,
    () => [silent(), 'payment', 'm-1', { timeout: 5 }],
    'Invalid option for waitFor: timeout. Did you mean timeoutMs?',
  ],
  [
    'a time-out that is none',
    waitFor,
    () => [silent(), 'payment', 'm-1', { timeoutMs: '5 s' }],
    'timeoutMs is a string; expected a number of milliseconds',
  ],
  [
    'a misspelt event to build',
    callbackFor,
    () => ['message.deliverd'],
    'Got "message.deliverd". Did you mean "message.delivered"?',
  ],
  ['an event of two callbacks', callbackFor, () => ['late'], 'No single callback produces `late`'],
  ['a name of Object', callbackFor, () => ['constructor'], 'Got "constructor". Valid: message.queued'],
  [
    'a field that is misspelt',
    callbackFor,
    () => ['message.failed', { stauts: 'failed' }],
    "callbackFor('message.failed'): stauts is not a field of this callback. Did you mean status?",
  ],
  ['a field of a chat-app', callbackFor, () => ['message.read', { messageid: 'm' }], 'Did you mean messageId?'],
  [
    'fields that are none',
    callbackFor,
    () => ['payment', 'm-1'],
    "callbackFor('payment'): fields is a string; expected an object",
  ],
  [
    'a misspelt status',
    callback.smsDelivery,
    () => [{ stauts: 'failed' }],
    'callback.smsDelivery: stauts is not a field of this callback. Did you mean status?',
  ],
  ['a field of the other shape', callback.smsDelivery, () => [{ message_id: 'm' }], 'Did you mean messageId?'],
  [
    'a misspelt status within',
    callback.chatApp,
    () => [{ statuses: { stauts: 'read' } }],
    'callback.chatApp: statuses.stauts is not a field of this callback. Did you mean statuses.status?',
  ],
  [
    'statuses that are none',
    callback.chatApp,
    () => [{ statuses: 'read' }],
    'callback.chatApp: statuses is a string; expected an object',
  ],
  ['fields that are a text', callback.payment, () => ['m-1'], 'callback.payment: fields is a string'],
  [
    'an object to sign',
    signCallback,
    () => [body(), signingSecret],
    'signCallback: the body is an object; expected the exact string or bytes that are sent',
  ],
  [
    'no secret to sign with',
    signCallback,
    () => ['{}', undefined],
    'signCallback: the secret is undefined; expected a string',
  ],
  [
    'a misspelt time to sign at',
    signCallback,
    () => ['{}', signingSecret, { timeStamps: 5 }],
    'Invalid option for signCallback: timeStamps. Did you mean timestamp?',
  ],
  [
    'no time to sign at',
    signCallback,
    () => ['{}', signingSecret, { timestamp: Number.NaN }],
    'timestamp is NaN; expected a number of Unix seconds',
  ],
  [
    'a start that is no time',
    fakeClock,
    () => [new Date('soon')],
    'fakeClock: the start is an object; expected a Date',
  ],
  ['a start that is a string', fakeClock, () => ['2026-01-01'], 'fakeClock: the start is a string'],
  ['a clock that is turned back', clock.advance, () => [-5], 'advance: got -5; expected a number of milliseconds'],
  ['a time that is none', clock.advance, () => [undefined], 'advance: got undefined'],
]

test.each(MISTAKES)('%s', async (_what, call, input, says) => {
  const thrown = await thrownBy(call, ...input())
  expect(thrown).toMatchObject({ code: /deliverd|late|constructor/.test(says) ? 'pattern_unknown' : 'options_invalid' })
  expect(String(thrown)).toContain(says)
})

test('a field that the service may add one day is let through, and one that is undefined is left out', () => {
  const fields: object = { campaign: 'spring', messageId: undefined }
  expect(JSON.parse(JSON.stringify(callback.smsDelivery(fields)))).toMatchObject({
    campaign: 'spring',
    status: 'success',
  })
  expect(JSON.parse(JSON.stringify(callback.smsDelivery(fields)))).not.toHaveProperty('messageId')
  expect(callback.payment({ stauts: 'of their own' })).toMatchObject({ stauts: 'of their own' })
})

describe('the kit’s own server is none that a receiver warns of', () => {
  function heard() {
    const lines: string[] = []
    const log = (fields: object): void => void lines.push('code' in fields ? String(fields.code) : '')
    const logger = { debug: log, info: log, warn: log, error: log }
    const receiver = createReceiver({ credentials: { signingSecret }, logger })
    receiver.onAny(() => {})
    return { lines, receiver }
  }

  test.each([
    ['a listener', (listener: ReturnType<typeof app>) => listener],
    ['an Express app', (listener: ReturnType<typeof app>) => express().use(listener)],
    ['a server that does not listen', (listener: ReturnType<typeof app>) => createHttpServer(listener)],
  ])('opened for %s', async (_what, appOf) => {
    const { lines, receiver } = heard()
    const it = appOf(receiver.middleware('status'))
    const answers = await Promise.all([1, 2, 3].map(() => deliver(it, body(), { signingSecret })))
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
    await receiver.close()
    expect(lines).toEqual([])
  })

  test('and a user’s server has its own setting again, of which the receiver does warn', async () => {
    const { lines, receiver } = heard()
    const server = createHttpServer(receiver.middleware('status'))
    const { keepAliveTimeout } = server
    await Promise.all([1, 2, 3].map(() => deliver(server, body(), { signingSecret })))
    expect(server.keepAliveTimeout).toBe(keepAliveTimeout)
    expect(lines).toEqual([])
    await listen(server)
    await deliver(server, body(), { signingSecret })
    expect(lines).toEqual(['keep_alive_short'])
    await new Promise((resolve) => server.close(resolve))
    await receiver.close()
  })
})
