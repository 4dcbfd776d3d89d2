/** `deliver` posts to any form of an app, as the service would; every event type has a callback that causes it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import { createReceiver, EVENT_TYPES } from 'messaging-webhooks'
import { callback, deliver, callbackFor, waitFor } from 'messaging-webhooks/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listen } from '../support/receiving.ts'
import { CALLBACKS } from '../../src/testing/callbacks.ts'

const signingSecret = 'secret-of-the-tests'
const authKey = 'auth-key-of-the-tests'

function createTestReceiver() {
  return createReceiver({ credentials: { signingSecret, authKey }, logger: false })
}

let receiver: ReturnType<typeof createTestReceiver>
beforeEach(() => {
  receiver = createTestReceiver()
})
afterEach(() => receiver.close({ deadlineMs: 100 }))

describe('an app can be', () => {
  type Middleware = ReturnType<typeof receiver.middleware>
  test.each<readonly [what: string, appOf: (middleware: Middleware) => Parameters<typeof deliver>[0]]>([
    ['an Express 4 app', (middleware) => express4().use(middleware)],
    ['a Connect app', (middleware) => connect().use(middleware)],
    ['the middleware itself', (middleware) => middleware],
  ])('%s', async (_, appOf) => {
    expect((await deliver(appOf(receiver.middleware('payment')), callback.payment(), { signingSecret })).status).toBe(
      204,
    )
  })

  test('an Express app, with the receiver at a path', async () => {
    const app = express().use('/webhooks/status', receiver.middleware('status'))
    const options = { signingSecret, path: '/webhooks/status' }
    expect(await deliver(app, callback.smsDelivery(), options)).toMatchObject({ status: 204, text: '' })
  })

  test.each([false, true])('a server; it continues to listen or not: %j', async (listening) => {
    const server = createServer(receiver.middleware('status'))
    if (listening) await listen(server)
    expect((await deliver(server, callback.smsDelivery(), { signingSecret })).status).toBe(204)
    expect(server.listening).toBe(listening)
    server.close()
  })
})

describe('the request', () => {
  interface Seen {
    readonly request: IncomingMessage
    readonly body: Buffer
  }
  const seen: Seen[] = []
  function record(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      seen.push({ request, body: Buffer.concat(chunks) })
      response.writeHead(302, { location: 'http://127.0.0.1:9/', 'x-seen': 'yes' }).end('{ not JSON')
    })
  }
  beforeEach(() => void seen.splice(0))

  test('is a POST of JSON, as in the contract, and follows no redirect', async () => {
    const answer = await deliver(record, { messageId: 'm-1' }, { path: '/status?of=1', authKey })
    expect(answer).toMatchObject({ status: 302, headers: { 'x-seen': 'yes' }, text: '{ not JSON' })
    const [{ request, body } = expect.fail()] = seen
    expect(request).toMatchObject({ method: 'POST', url: '/status?of=1' })
    expect(request.headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json' })
    expect(request.headers).not.toHaveProperty('x-service-signature')
    expect(JSON.parse(body.toString())).toEqual({ messageId: 'm-1', authKey })
  })

  test.each([
    ['text', '{"messageId": "m-1" }', Buffer.from('{"messageId": "m-1" }')],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x00]), Buffer.from([0x7b, 0xff, 0x00])],
    ['nothing', '', Buffer.alloc(0)],
  ])('is %s byte for byte, without an added authKey', async (_, given, expected) => {
    await deliver(record, given, { authKey, signingSecret })
    expect(seen.map(({ body }) => body)).toEqual([expected])
  })

  test('has custom headers', async () => {
    await deliver(record, {}, { signingSecret, headers: { 'x-service-signature': 'mine', 'x-other': 'too' } })
    expect(seen[0]?.request.headers).toMatchObject({ 'x-service-signature': 'mine', 'x-other': 'too' })
  })
})

test.each([
  ['no proof', {}, 401],
  ['the authKey alone', { authKey }, 204],
  ['another secret', { signingSecret: 'another' }, 401],
  ['a signature of ten minutes ago', { signingSecret, timestamp: Math.floor(Date.now() / 1_000) - 600 }, 401],
])('with %s', async (_, options, status) => {
  expect((await deliver(receiver.middleware('status'), callback.smsDelivery(), options)).status).toBe(status)
})

test.each([
  ['throws', () => expect.fail('mine')],
  ['rejects', () => Promise.reject(new Error('mine'))],
])('reports what a listener %s to the caller of deliver', async (_, listener) => {
  await expect(deliver(listener, callback.smsDelivery())).rejects.toThrow('mine')
})

const TYPES = EVENT_TYPES.filter((type) => type !== 'late' && type !== 'send.overdue' && type !== 'send.unknown')

test('covers every event type that one callback can cause', () => {
  expect(Object.keys(CALLBACKS).sort()).toEqual([...TYPES].sort())
})

describe.each(TYPES)('%s', (type) => {
  test('results from its callback', async () => {
    const own = createReceiver({ credentials: { signingSecret }, ordering: { gapTimeoutMs: 0 }, logger: false })
    const { kind } = CALLBACKS[type]
    const answer = await deliver(own.middleware(kind), callbackFor(type), { signingSecret })
    expect(answer.status).toBe(204)
    expect((await waitFor(own, type, undefined, { timeoutMs: 20_000 })).type).toBe(type)
    await own.close()
  })
})

test.each(['message.delivered', 'message.read'] as const)('custom fields, in any shape: %s', async (type) => {
  const own = createReceiver({ credentials: { signingSecret }, ordering: { gapTimeoutMs: 0 }, logger: false })
  const body = callbackFor(type, { messageId: 'm-1', project: 'Another', extra: 1 })
  await deliver(own.middleware('status'), body, { signingSecret })
  const event = await waitFor(own, type, 'm-1', { timeoutMs: 20_000 })
  expect(event).toMatchObject({ messageId: 'm-1', project: 'Another', payload: { extra: 1 } })
  await own.close()
})

test('fields of the `statuses` object are merged into it', () => {
  expect(callbackFor('message.sent', { statuses: { recipient: '254722000000' } })).toMatchObject({
    statuses: { status: 'sent', recipient: '254722000000', type: 'status' },
  })
})
