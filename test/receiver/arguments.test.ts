/** The arguments of the receiver's methods are checked like its options: no misspelt name is ignored. */
import express, { type ErrorRequestHandler } from 'express'
import { createReceiver, OptionsError, type Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import supertest from 'supertest'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'

const SECRET = 'SECRET-VALUE-THAT-NO-TEXT-MAY-SHOW'

function silent(): Receiver {
  return createReceiver({ credentials: { authKey: 'key-of-the-tests' }, logger: false })
}

/** Calls it as untyped JavaScript does. */
async function refusalOf(call: (...input: never[]) => unknown, ...input: readonly unknown[]): Promise<string> {
  let thrown: unknown
  try {
    await Reflect.apply(call, undefined, input)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(OptionsError)
  return thrown instanceof OptionsError ? thrown.message : ''
}

type Calls = readonly (readonly [
  what: string,
  of: (receiver: Receiver) => (...input: never[]) => unknown,
  input: readonly unknown[],
  says: string,
])[]

const REFUSED: Calls = [
  ['a misspelt security option', (it) => it.middleware, ['payment', { prof: 'signature' }], 'Did you mean proof?'],
  [
    'an unknown policy',
    (it) => it.middleware,
    ['payment', { proof: SECRET }],
    'middleware: proof is a string; expected',
  ],
  ['no options at all', (it) => it.middleware, ['payment', null], 'middleware: options is null'],
  ['a kind in the plural', (it) => it.middleware, ['statuses'], 'Got "statuses". Did you mean "status"?'],
  ['a kind that is not a string', (it) => it.middleware, [{ proof: SECRET }], 'Got an object'],
  [
    'a misspelt project',
    (it) => it.messageState,
    ['m-1', { projct: 'x' }],
    'messageState: projct. Did you mean project?',
  ],
  ['a project alone', (it) => it.messageState, ['m-1', SECRET], 'messageState: options is a string; expected'],
  [
    'an unknown type',
    (it) => it.events.list,
    [{ types: [SECRET] }],
    'events.list: types.0 is a string; expected one of',
  ],
  ['a misspelt project', (it) => it.events.ofMessage, ['m-1', { projct: 'x' }], 'events.ofMessage: projct.'],
  ['a page of size 0', (it) => it.deadLetters.list, [{ limit: 0 }], 'limit is 0; expected a whole number from 1'],
  ['a misspelt force', (it) => it.deadLetters.replay, ['id', { forced: true }], 'forced. Did you mean force?'],
  ['a deadline without its unit', (it) => it.drain, [{ deadline: 5 }], 'drain: deadline. Did you mean deadlineMs?'],
  ['a deadline that is not a number', (it) => it.close, [{ deadlineMs: Number.NaN }], 'close: deadlineMs is NaN'],
  ['a signal, as a listener gets it', (it) => it.close, ['SIGTERM', 15], 'close: options is a string'],
  ['one misspelt signal of two', (it) => it.closeOnSignal, [['SIGINT', 'SIGTREM']], 'Did you mean "SIGTERM"?'],
  ['no signal', (it) => it.closeOnSignal, [[]], 'closeOnSignal: no signal is given'],
  ['a signal that no process can handle', (it) => it.closeOnSignal, ['SIGKILL'], 'Got "SIGKILL".'],
  ['a signal by its number', (it) => it.closeOnSignal, [15], 'Got 15.'],
  ['an app for a server', (it) => it.closeOnSignal, ['SIGTERM', { handle() {} }], 'a server is an object; expected'],
  ['misspelt times', (it) => it.closeOnSignal, ['SIGTERM', [], { idle: 5 }], 'idle. Did you mean idleMs?'],
  ['a misspelt offset', (it) => it.quarantine.reverify, [{ clockOffsetSecond: 5 }], 'Did you mean clockOffsetSeconds?'],
  ['a signal that aborts nothing', (it) => it.quarantine.reverify, [{ signal: {} }], 'expected an AbortSignal'],
  ['a page after an invalid one', (it) => it.quarantine.list, [{ after: 'x' }], 'expected the `next` of a page'],
]

test.each(REFUSED)('%s is refused by name, without its value', async (_what, of, input, says) => {
  const receiver = silent()
  const text = await refusalOf(of(receiver), ...input)
  expect(text).toContain(says)
  expect(text).not.toContain(SECRET)
  await receiver.close()
})

test('a refused call changes nothing: the receiver keeps running, and closes on a valid call', async () => {
  const { receiver, url } = await receiving()
  await refusalOf(receiver.close, { deadline: 5 })
  const { authKey, body } = { authKey: 'auth-key-of-the-tests', body: callback.smsDelivery() }
  const post = () => fetch(url, { method: 'POST', body: JSON.stringify({ ...body, authKey }) })
  expect((await post()).status).toBe(204)
  await receiver.close({ deadlineMs: 100 })
  expect((await post()).status).toBe(503)
})

test('treats undefined as omitted', async () => {
  const receiver = silent()
  expect(receiver.middleware('payment', { proof: undefined })).toBeTypeOf('function')
  expect(receiver.middleware(undefined, undefined)).toBeTypeOf('function')
  expect(await receiver.messageState('m-1', { project: undefined })).toBeUndefined()
  receiver.closeOnSignal('SIGUSR2', undefined, { idleMs: undefined, afterwards: undefined })()
  expect(await receiver.drain()).toBe(true)
  await receiver.close(undefined)
})

test('accepts signals of other systems', () => {
  const takeOff = silent().closeOnSignal(['SIGTERM', 'SIGBREAK'])
  expect(process.listenerCount('SIGTERM')).toBeGreaterThan(0)
  takeOff()
})

test('receiver.middleware mounted without parentheses is reported', async () => {
  const answer: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    response.statusCode = 500
    response.end(error instanceof OptionsError ? error.message : 'another error')
  }
  const { middleware } = silent()
  const app = express()
    .use('/status', middleware as never)
    .use(answer)
  const { status, text } = await supertest(app).post('/status').send(callback.smsDelivery())
  expect(text).toContain("Mount its result: app.use(path, receiver.middleware('status'))")
  expect(status).toBe(500)
})
