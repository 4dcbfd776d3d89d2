/** The middleware on node:http2, and Fastify’s HTTP/2: both pass the cases of every adapter, and lack a few parts of HTTP/1. */
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify from 'fastify'
import { createReceiver } from 'messaging-webhooks'
import { webhooks } from 'messaging-webhooks/fastify'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { adapterCases, type AdapterOptions, type StartedAdapter } from './cases.ts'
import { bridgeTo, onHttp2 } from './on-http2.ts'
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

/** Sends one request to a new receiver; resolves to the headers of the answer once that has ended. */
async function ask(method: string, body?: string, options: SomeOptions = {}) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  onTestFinished(() => receiver.close())
  const listener = receiver.middleware('status')
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
  const request = client.request({ ':method': method, ':path': '/' })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [{ readonly ':status': number; readonly connection?: string }]
  request.resume()
  await once(request, 'end')
  return answer
}

test('a refusal has no HTTP/1 header, which would make Node warn', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  expect(await ask('GET')).toMatchObject({ ':status': 405 })
  expect(await ask('POST', JSON.stringify(callback.smsDelivery({})))).toMatchObject({ ':status': 401 })
  await new Promise((resolve) => void setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('the answer to a body that is too large ends with it, not when its timeout is over', async () => {
  // No time passes.
  const options = { clock: fakeClock(), maxBodyBytes: 1_024 }
  expect(await ask('POST', 'x'.repeat(1_025), options)).toMatchObject({ ':status': 413 })
})
