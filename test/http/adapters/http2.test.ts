/** The middleware on node:http2, and Fastify's HTTP/2: both must pass the cases of every adapter. */
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { createReceiver } from 'messaging-webhooks'
import { webhooks } from 'messaging-webhooks/fastify'
import { adapterCases, type AdapterOptions, type StartedAdapter } from './cases.ts'
import { bridgeTo, onHttp2 } from './on-http2.ts'
import { watched } from './watched.ts'

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
