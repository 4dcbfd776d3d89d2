/** Mistakes of a test's author throw at once, instead of letting the test pass or time out. */
import express from 'express'
import { createReceiver } from 'messaging-webhooks'
import { callback, callbackFor, deliver, fakeClock, signCallback, waitFor } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'

const signingSecret = 'secret-of-the-tests'
const silent = () => createReceiver({ credentials: { signingSecret }, logger: false })
const app = () => silent().middleware('status')

/** Calls it as untyped JavaScript does. */
async function thrownBy(call: (...input: never[]) => unknown, ...input: readonly unknown[]): Promise<unknown> {
  try {
    await Reflect.apply(call, undefined, input)
  } catch (error) {
    return error
  }
  return undefined
}

const body = () => callback.smsDelivery()
const clock = fakeClock()

type Mistakes = readonly (readonly [input: () => readonly unknown[], says: string])[]

const OF_DELIVER: Mistakes = [
  [() => [silent(), body()], "got a receiver. Pass your app, or its middleware, such as receiver.middleware('status')"],
  [() => [undefined, body()], 'deliver: the app is undefined; expected an app, a listener or a server'],
  [() => ['http://127.0.0.1:9', body()], 'deliver: the app is a string'],
  [() => [silent().middleware, body()], 'Mount its result'],
  [() => [app(), callback.smsDelivery], 'deliver: the callback is a function; expected an object'],
  [() => [app()], 'deliver: the callback is undefined'],
  [() => [app(), body(), { signingsecret: 'x' }], 'for deliver: signingsecret. Did you mean signingSecret?'],
  [() => [app(), body(), { path: 'status' }], 'path is a string; expected a string that begins with /'],
  [() => [app(), body(), { headers: { 'x-turn': 7 } }], 'headers.x-turn is a number; expected a string'],
]

const OF_WAIT_FOR: Mistakes = [
  [() => [silent(), 'message.deliverd'], 'Got "message.deliverd". Did you mean "message.delivered"?'],
  [() => [express(), 'payment'], 'waitFor: the receiver is a function; expected the result of createReceiver'],
  [() => [silent(), 'payment', { timeoutMs: 5 }], 'waitFor: the message id is an object'],
  [() => [silent(), 'payment', 'm-1', { timeout: 5 }], 'for waitFor: timeout. Did you mean timeoutMs?'],
  [
    () => [silent(), 'payment', 'm-1', { timeoutMs: '5 s' }],
    'timeoutMs is a string; expected a number of milliseconds',
  ],
]

const OF_CALLBACK_FOR: Mistakes = [
  [() => ['message.deliverd'], 'Got "message.deliverd". Did you mean "message.delivered"?'],
  [() => ['late'], 'No single callback produces `late`'],
  [() => ['constructor'], 'Got "constructor". Valid: message.queued'],
  [
    () => ['message.failed', { stauts: 'failed' }],
    "callbackFor('message.failed'): stauts is not a field of this callback. Did you mean status?",
  ],
  [() => ['message.read', { messageid: 'm' }], 'Did you mean messageId?'],
  [() => ['payment', 'm-1'], "callbackFor('payment'): fields is a string; expected an object"],
]

const OF_SMS_DELIVERY: Mistakes = [
  [() => [{ stauts: 'x' }], 'callback.smsDelivery: stauts is not a field of this callback. Did you mean status?'],
  [() => [{ message_id: 'm' }], 'Did you mean messageId?'],
]

const OF_CHAT_APP: Mistakes = [
  [() => [{ statuses: { stauts: 'read' } }], 'callback.chatApp: statuses.stauts is not a field of this callback.'],
  [() => [{ statuses: { stauts: 'read' } }], 'Did you mean statuses.status?'],
  [() => [{ statuses: 'read' }], 'callback.chatApp: statuses is a string; expected an object'],
]

const OF_SIGN_CALLBACK: Mistakes = [
  [
    () => [body(), signingSecret],
    'signCallback: the body is an object; expected the exact string or bytes that are sent',
  ],
  [() => ['{}', undefined], 'signCallback: the secret is undefined; expected a string'],
  [() => ['{}', signingSecret, { timeStamps: 5 }], 'for signCallback: timeStamps. Did you mean timestamp?'],
  [() => ['{}', signingSecret, { timestamp: NaN }], 'timestamp is NaN; expected a number of Unix seconds'],
]

const OF_FAKE_CLOCK: Mistakes = [
  [() => [new Date('soon')], 'fakeClock: the start is an object; expected a Date'],
  [() => ['2026-01-01'], 'fakeClock: the start is a string'],
]

const OF_ADVANCE: Mistakes = [
  [() => [-5], 'advance: got -5; expected a number of milliseconds'],
  [() => [undefined], 'advance: got undefined'],
]

describe.each([
  ['deliver', deliver, OF_DELIVER],
  ['waitFor', waitFor, OF_WAIT_FOR],
  ['callbackFor', callbackFor, OF_CALLBACK_FOR],
  ['smsDelivery', callback.smsDelivery, OF_SMS_DELIVERY],
  ['chatApp', callback.chatApp, OF_CHAT_APP],
  ['payment', callback.payment, [[() => ['m-1'], 'callback.payment: fields is a string']]],
  ['signCallback', signCallback, OF_SIGN_CALLBACK],
  ['fakeClock', fakeClock, OF_FAKE_CLOCK],
  ['advance', clock.advance, OF_ADVANCE],
] as const)('%s', (_name, call, mistakes) => {
  test.each<Mistakes[number]>(mistakes)('%s throws: %s', async (input, says) => {
    const thrown = await thrownBy(call, ...input())
    const code = /deliverd|late|constructor/.test(says) ? 'pattern_unknown' : 'options_invalid'
    expect(thrown).toMatchObject({ code })
    expect(String(thrown)).toContain(says)
  })
})

test('keeps unknown fields, and omits undefined ones', () => {
  const fields: object = { campaign: 'spring', messageId: undefined }
  expect(JSON.parse(JSON.stringify(callback.smsDelivery(fields)))).toMatchObject({
    campaign: 'spring',
    status: 'success',
  })
  expect(JSON.parse(JSON.stringify(callback.smsDelivery(fields)))).not.toHaveProperty('messageId')
  expect(callback.payment({ stauts: 'of their own' })).toMatchObject({ stauts: 'of their own' })
})

test.each([
  ['a listener', (listener: ReturnType<typeof app>) => listener],
  ['an Express app', (listener: ReturnType<typeof app>) => express().use(listener)],
])('the server that the kit opens for %s causes no warning', async (_what, appOf) => {
  const lines: string[] = []
  const log = (fields: object): void => void lines.push('code' in fields ? String(fields.code) : '')
  const receiver = createReceiver({
    credentials: { signingSecret },
    logger: { debug: log, info: log, warn: log, error: log },
  })
  receiver.onAny(() => {})
  const it = appOf(receiver.middleware('status'))
  const answers = await Promise.all([1, 2, 3].map(() => deliver(it, body(), { signingSecret })))
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
  await receiver.close()
  expect(lines).toEqual([])
})
