/** The plugin is one of Fastify's, over HTTP/1 and HTTP/2, and Fastify's logger is one of ours. */
import Fastify, { type FastifyPluginAsync } from 'fastify'
import { createReceiver } from 'messaging-webhooks'
import { webhooks, type WebhooksOptions } from 'messaging-webhooks/fastify'
import { expectTypeOf, test } from 'vitest'

const app = Fastify({ logger: true })
const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: app.log })

test('is registered with its own options and those of Fastify', () => {
  expectTypeOf(webhooks).toExtend<FastifyPluginAsync<WebhooksOptions>>()
  void app.register(webhooks, { receiver, status: '/status', prefix: '/webhooks', logLevel: 'warn' })
  void app.register(webhooks, { receiver, payment: { url: '/payment', proof: 'signature' }, close: false })
  void Fastify({ http2: true }).register(webhooks, { receiver, any: '/any' })
})

test('invalid options do not compile', () => {
  // @ts-expect-error An unknown kind.
  void app.register(webhooks, { receiver, statuses: '/status' })
  // @ts-expect-error An unknown policy.
  void app.register(webhooks, { receiver, status: { url: '/status', proof: 'signatur' } })
  // @ts-expect-error No receiver.
  void app.register(webhooks, { status: '/status' })
})
