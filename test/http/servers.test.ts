import { once } from 'node:events'
import http from 'node:http'
import { Server } from 'node:net'
import { createReceiver, memoryStore, type Clock, type Store } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createServers } from '../../src/http/servers.ts'
import { silentLogger } from '../../src/runtime/logger.ts'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'
import { AUTH_KEY, listen, post, SIGNING_SECRET } from '../support/receiving.ts'
import { gate } from '../support/gate.ts'

/** Like a store that keeps its events when the process ends. */
function lasting(store: Store): Store {
  return { ...store, capabilities: { ...store.capabilities, durable: true } }
}

async function serving(keepAliveTimeout: number, options: { readonly clock?: Clock; readonly store?: Store } = {}) {
  const { logger, lines: logged } = logging()
  const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  const receiver = createReceiver({ credentials, spool: false, logger, ...options })
  receiver.onAny(() => {})
  const server = http.createServer({ keepAliveTimeout }, receiver.middleware('status'))
  const url = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const lines = () => logged.map(({ fields: { code }, text }) => ({ code, text }))
  return { receiver, server, url, lines }
}

test('warns of a short keepAliveTimeout once', async () => {
  const { url, lines } = await serving(5_000)
  for (let time = 0; time < 3; time += 1) await post(url, callback.smsDelivery())
  expect(lines()).toEqual([{ code: 'keep_alive_short', text: expect.stringContaining('5000 ms') as unknown }])
  expect(lines()[0]?.text).toContain('server.keepAliveTimeout = 75_000')
})

test.each([75_000, 0])('does not warn of a keepAliveTimeout of %s', async (keepAliveTimeout) => {
  const { url, lines } = await serving(keepAliveTimeout)
  await post(url, callback.smsDelivery())
  expect(lines()).toEqual([])
})

test('close() keeps accepting callbacks until the server has closed, and no answer is 503', async () => {
  // The clock stands still, so no client is ever quiet for half a second.
  const clock = fakeClock()
  const { receiver, server, url } = await serving(75_000, { clock })
  let begun = 0
  const { open: release, opened: released } = gate()
  receiver.onAny(() => {
    begun += 1
    return released
  })
  await post(url, callback.smsDelivery())
  await expect.poll(() => begun).toBe(1)
  const closed = receiver.close()
  for (let time = 0; time < 5; time += 1) expect((await post(url, callback.smsDelivery())).status).toBe(204)
  release()
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  server.close()
  await letTimePass(clock, closed)
  expect(server.listening).toBe(false)
  expect(begun).toBe(7)
})

test('while closing, each answer closes its connection', async () => {
  const { receiver, server, url } = await serving(75_000)
  await post(url, callback.smsDelivery())
  const closed = receiver.close()
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY }))
  const response = await fetch(url, { method: 'POST', body })
  expect([response.status, response.headers.get('connection')]).toEqual([204, 'close'])
  server.close()
  await closed
})

describe.each<readonly [string, () => Store]>([
  ['a store in memory', () => memoryStore()],
  ['a durable store', () => lasting(memoryStore())],
])('close() before server.close(), with %s', (_what, newStore) => {
  test('warns at once, accepts what arrives, and ends when nothing has arrived for half a second', async () => {
    const clock = fakeClock()
    const { receiver, server, url, lines } = await serving(75_000, { clock, store: newStore() })
    expect((await post(url, callback.smsDelivery())).status).toBe(204)
    let isClosed = false
    const closed = receiver.close().then(() => (isClosed = true))
    await expect.poll(() => lines().map(({ code }) => code)).toEqual(['server_still_open'])
    expect(lines()[0]?.text).toContain('Call server.close() first')
    // Ten times as long as it would wait without a client, and as long as its deadline.
    for (let time = 0; time < 25; time += 1) {
      await clock.advance(400)
      expect(isClosed).toBe(false)
      expect((await post(url, callback.smsDelivery())).status).toBe(204)
      if (time === 20) break
    }
    await clock.advance(499)
    expect(isClosed).toBe(false)
    await clock.advance(1)
    await closed
    expect(server.listening).toBe(true)
    expect((await post(url, callback.smsDelivery())).status).toBe(503)
    expect(lines().map(({ code }) => code)).toEqual(['server_still_open', 'receiver_closed'])
  })

  test('waits for a request whose body is in flight', async () => {
    const clock = fakeClock()
    const { receiver, url } = await serving(75_000, { clock, store: newStore() })
    const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY })))
    const request = http.request(url, { method: 'POST', headers: { 'content-length': body.length } })
    const response = once(request, 'response')
    request.write(body.subarray(0, 5))
    await expect.poll(async () => (await post(url, callback.smsDelivery())).status).toBe(204)
    let isClosed = false
    const closed = receiver.close().then(() => (isClosed = true))
    await clock.advance(2_000)
    expect(isClosed).toBe(false)
    request.end(body.subarray(5))
    // `once` resolves with the event's one argument.
    const [{ statusCode }] = (await response) as [http.IncomingMessage]
    expect(statusCode).toBe(204)
    await letTimePass(clock, closed)
  })

  test('ends as soon as the server has closed after all', async () => {
    const clock = fakeClock()
    const { receiver, server, url } = await serving(75_000, { clock, store: newStore() })
    await post(url, callback.smsDelivery())
    const closed = receiver.close()
    await clock.advance(100)
    server.close()
    server.closeAllConnections()
    // Without any time passing.
    await closed
  })
})

test('waits for a server that stops because of closeOnSignal, however quiet it is', async () => {
  const clock = fakeClock()
  const servers = createServers({ clock, logger: silentLogger })
  const server = http.createServer(() => {})
  await listen(server)
  onTestFinished(() => void server.close())
  servers.stop([server], { listenMs: 5_000, idleMs: 2_000 })
  servers.watch()
  expect(servers.areListening).toBe(false)
  let isOver = false
  const over = servers.closed(60_000).then((areClosed) => (isOver = areClosed))
  await clock.advance(4_900)
  expect({ isOver, isListening: server.listening }).toEqual({ isOver: false, isListening: true })
  await clock.advance(200)
  await expect.poll(() => clock.advance(100).then(() => isOver)).toBe(true)
  expect(await over).toBe(true)
})

test('waits until the deadline for connections that stay open behind a server that has stopped listening', async () => {
  const clock = fakeClock()
  const { receiver, server, url, lines } = await serving(75_000, { clock })
  const agent = new http.Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const body = JSON.stringify(callback.smsDelivery())
  const headers = { 'x-service-signature': signCallback(body, SIGNING_SECRET) }
  const request = http.request(url, { method: 'POST', agent, headers })
  request.end(body)
  // `once` resolves with the event's one argument.
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  await once(response, 'end')
  // The close() of http.Server closes idle connections too.
  Server.prototype.close.call(server)
  let isClosed = false
  const closed = receiver.close({ deadlineMs: 3_000 }).then(() => (isClosed = true))
  await clock.advance(2_900)
  expect(isClosed).toBe(false)
  expect(lines()).toEqual([])
  await letTimePass(clock, closed)
  expect(lines()).toEqual([{ code: 'server_still_open', text: expect.stringContaining('still open') as unknown }])
})
