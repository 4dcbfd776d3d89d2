/** The arguments of the receiver's methods are checked like its options: no misspelt name is ignored. */
import { createServer } from 'node:http'
import connect from 'connect'
import express, { type ErrorRequestHandler } from 'express'
import express4 from 'express4'
import { createReceiver, OptionsError, type Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
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
  [
    'a misspelt security option',
    (it) => it.middleware,
    ['payment', { prof: 'signature' }],
    'Invalid option for middleware: prof. Did you mean proof?',
  ],
  [
    'a policy that does not exist',
    (it) => it.middleware,
    ['payment', { proof: SECRET }],
    'middleware: proof is a string; expected one of either, signature, authKey, both',
  ],
  ['invalid options of a mount', (it) => it.middleware, ['payment', 'signature'], 'such as { proof }'],
  ['no options at all', (it) => it.middleware, ['payment', null], 'middleware: options is null'],
  ['a kind in the plural', (it) => it.middleware, ['statuses'], 'Got "statuses". Did you mean "status"?'],
  ['a kind of nothing', (it) => it.middleware, [''], 'Valid: status, received, payment, subscription'],
  ['a kind that is not a string', (it) => it.middleware, [{ proof: SECRET }], 'Got an object'],
  [
    'a misspelt project',
    (it) => it.messageState,
    ['m-1', { projct: 'x' }],
    'Invalid option for messageState: projct. Did you mean project?',
  ],
  ['a project alone', (it) => it.messageState, ['m-1', SECRET], 'messageState: options is a string; expected'],
  [
    'a page of size 0',
    (it) => it.deadLetters.list,
    [{ limit: 0 }],
    'deadLetters.list: limit is 0; expected a whole number from 1',
  ],
  ['a misspelt limit', (it) => it.deadLetters.list, [{ limits: 5 }], 'Did you mean limit?'],
  [
    'a misspelt force',
    (it) => it.deadLetters.replay,
    ['id', { forced: true }],
    'Invalid option for deadLetters.replay: forced. Did you mean force?',
  ],
  [
    'a force that is not a boolean',
    (it) => it.deadLetters.replay,
    ['id', { force: 'no' }],
    'force is a string; expected true or false',
  ],
  [
    'a deadline without its unit',
    (it) => it.drain,
    [{ deadline: 5 }],
    'Invalid option for drain: deadline. Did you mean deadlineMs?',
  ],
  [
    'a deadline that is not a number',
    (it) => it.drain,
    [{ deadlineMs: Number.NaN }],
    'drain: deadlineMs is NaN; expected a number of milliseconds from 0',
  ],
  [
    'a deadline without its unit, on the way out',
    (it) => it.close,
    [{ deadline: 5 }],
    'Invalid option for close: deadline. Did you mean deadlineMs?',
  ],
  [
    'a deadline of a variable that was not set',
    (it) => it.close,
    [{ deadlineMs: Number.NaN }],
    'close: deadlineMs is NaN',
  ],
  ['a signal, as a listener gets it', (it) => it.close, ['SIGTERM', 15], 'close: options is a string'],
  ['a misspelt signal', (it) => it.closeOnSignal, ['SIGTREM'], 'Got "SIGTREM". Did you mean "SIGTERM"?'],
  ['one misspelt signal of two', (it) => it.closeOnSignal, [['SIGINT', 'SIGTREM']], 'Did you mean "SIGTERM"?'],
  ['no signal', (it) => it.closeOnSignal, [[]], 'closeOnSignal: no signal is given'],
  [
    'a signal that cannot be handled',
    (it) => it.closeOnSignal,
    ['SIGKILL'],
    'closeOnSignal: a process cannot handle SIGKILL',
  ],
  ['a signal by its number', (it) => it.closeOnSignal, [15], 'Got 15.'],
  [
    'an app for a server',
    (it) => it.closeOnSignal,
    ['SIGTERM', { handle() {} }],
    'closeOnSignal: a server is an object; expected the result of app.listen()',
  ],
  [
    'times that are misspelt',
    (it) => it.closeOnSignal,
    ['SIGTERM', [], { idle: 5 }],
    'Invalid option for closeOnSignal: idle. Did you mean idleMs?',
  ],
  [
    'invalid times',
    (it) => it.closeOnSignal,
    ['SIGTERM', [], { listenMs: -1 }],
    'closeOnSignal: listenMs is -1; expected a number of milliseconds',
  ],
  [
    'an `afterwards` that was already called',
    (it) => it.closeOnSignal,
    ['SIGTERM', [], { afterwards: Promise.resolve() }],
    'afterwards is an object; expected a function',
  ],
  [
    'a misspelt offset',
    (it) => it.quarantine.reverify,
    [{ clockOffsetSecond: 5 }],
    'Invalid option for quarantine.reverify: clockOffsetSecond. Did you mean clockOffsetSeconds?',
  ],
  [
    'a signal that aborts nothing',
    (it) => it.quarantine.reverify,
    [{ signal: {} }],
    'quarantine.reverify: signal is an object; expected an AbortSignal',
  ],
  [
    'a misspelt reveal',
    (it) => it.quarantine.list,
    [{ revael: true }],
    'Invalid option for quarantine.list: revael. Did you mean reveal?',
  ],
  [
    'a page after an invalid one',
    (it) => it.quarantine.list,
    [{ after: 'the-first' }],
    'quarantine.list: after is a string; expected the `next` of a page',
  ],
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

describe('receiver.middleware mounted without parentheses is reported', () => {
  const said = "Mount its result: app.use(path, receiver.middleware('status'))"
  const answer: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    response.statusCode = 500
    response.end(error instanceof OptionsError ? error.message : 'another error')
  }

  test.each([
    [
      'Express 5',
      () =>
        express()
          .use('/status', silent().middleware as never)
          .use(answer),
    ],
    [
      'Express 4',
      () =>
        express4()
          .use('/status', silent().middleware as never)
          .use(answer),
    ],
    [
      'Connect',
      () =>
        connect()
          .use('/status', silent().middleware as never)
          .use(answer as never),
    ],
  ])('in %s', async (_what, app) => {
    const { status, text } = await supertest(app()).post('/status').send(callback.smsDelivery())
    expect(text).toContain(said)
    expect(status).toBe(500)
  })

  test('in node:http, by throwing', async () => {
    const { middleware } = silent()
    const server = createServer((...input) => {
      try {
        void Reflect.apply(middleware, undefined, input)
      } catch (error) {
        input[1].end(error instanceof OptionsError ? error.message : 'another error')
      }
    })
    expect((await supertest(server).post('/')).text).toContain(said)
  })
})
