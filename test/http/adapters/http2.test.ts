/** The middleware on node:http2, and Fastify’s HTTP/2: both pass the cases of every adapter, and lack a few parts of HTTP/1. */
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import Fastify from 'fastify'
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { createEmulator } from 'messaging-webhooks/emulator'
import { webhooks } from 'messaging-webhooks/fastify'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { inspector } from 'messaging-webhooks/inspector'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { adapterCases, type AdapterOptions, type StartedAdapter } from './cases.ts'
import { bridgeTo, onHttp2 } from './on-http2.ts'
import { createServers } from '../../../src/http/servers.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { silentLogger } from '../../../src/runtime/logger.ts'
import { watched } from './watched.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { withCredentials, type SomeOptions } from '../../support/receiving.ts'

const readBefore = {
  code: 'body_already_read',
  says: 'Mount the receiver before anything that reads the body.',
} as const

adapterCases('node:http2', {
  start: onHttp2((receiver) => receiver.middleware('status')),
  parser: {
    start: onHttp2((receiver) => {
      const middleware = receiver.middleware('status')
      return (request, response) => void request.resume().once('end', () => middleware(request, response))
    }),
    ...readBefore,
  },
})

function onFastify(isRead: boolean) {
  return async (options: AdapterOptions): Promise<StartedAdapter> => {
    const receiver = createReceiver(options)
    const app = Fastify({ http2: true })
    if (isRead) app.addHook('onRequest', (incoming, _reply, done) => void incoming.raw.resume().once('end', done))
    void app.register(webhooks, { receiver, status: '/status' })
    const observed = watched(receiver)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const bridge = await bridgeTo(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
    return {
      url: `${bridge.url}status`,
      observed,
      async close() {
        bridge.close()
        await app.close()
      },
    }
  }
}

adapterCases('Fastify with http2: true', { start: onFastify(false), parser: { start: onFastify(true), ...readBefore } })

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** An HTTP/2 server, and what sends it requests on one session: they resolve to the headers of the answer once that has ended. */
async function serve(listener: Listener) {
  // The types differ from those of HTTP/1; the test uses the common part.
  const server = createServer((request, response) =>
    listener(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.close()
    server.close()
  })
  async function ask(method: string, body?: string, path = '/') {
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    const request = client.request({ ':method': method, ':path': path, ...headers })
    request.end(body)
    const [answer] = (await once(request, 'response')) as [{ readonly ':status': number }]
    request.resume()
    await once(request, 'end')
    return answer
  }
  return { server, ask }
}

function receiverOfTheTest(options: SomeOptions = {}): Receiver {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  onTestFinished(() => receiver.close())
  return receiver
}

test('no answer has a header of HTTP/1 connections, which would make Node warn', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))

  const refusing = await serve(receiverOfTheTest().middleware('status'))
  expect(await refusing.ask('GET')).toMatchObject({ ':status': 405 })
  expect(await refusing.ask('POST', JSON.stringify(callback.smsDelivery({})))).toMatchObject({ ':status': 401 })

  // As `closeOnSignal` stops a server.
  const stopping = await serve(receiverOfTheTest().middleware('status'))
  const servers = createServers({ clock: systemClock(), logger: silentLogger })
  servers.stop([stopping.server], { listenMs: 60_000, idleMs: 0 })
  expect(await stopping.ask('GET')).toMatchObject({ ':status': 405 })

  const closing = receiverOfTheTest()
  const { ask } = await serve(closing.middleware('status'))
  void closing.close()
  expect(await ask('GET')).toMatchObject({ ':status': 405 })

  const inspecting = await serve(inspector(receiverOfTheTest(), { authorize: () => 'write' }))
  const tooLong = 'x'.repeat(65_537)
  expect(await inspecting.ask('POST', tooLong, '/api/dead-letters/discard')).toMatchObject({ ':status': 413 })

  const hono = getRequestListener(receiverHandler(receiverOfTheTest(), 'status'))
  const fetching = await serve((request, response) => void hono(request, response))
  expect(await fetching.ask('GET')).toMatchObject({ ':status': 405 })

  const emulator = createEmulator()
  const emulating = await serve(emulator.app)
  expect(await emulating.ask('PUT', '{}', '/api/v1/messaging')).toMatchObject({ ':status': 405 })
  await emulator.close()
  expect(await emulating.ask('POST', '{}', '/api/v1/messaging')).toMatchObject({ ':status': 503 })

  await new Promise((resolve) => void setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('the answer to a body that is too large ends with it, not when its timeout is over', async () => {
  // No time passes.
  const { ask } = await serve(receiverOfTheTest({ clock: fakeClock(), maxBodyBytes: 1_024 }).middleware('status'))
  expect(await ask('POST', 'x'.repeat(1_025))).toMatchObject({ ':status': 413 })
})
