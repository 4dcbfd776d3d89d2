/** The module’s URLs: the cases of every adapter on both of Nest’s platforms, independent of the app’s other routes. */
import express, { json, urlencoded } from 'express'
import { ExpressAdapter } from '@nestjs/platform-express'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import type { Receiver } from 'messaging-webhooks'
import { getReceiverToken, WebhooksModule } from 'messaging-webhooks/nest'
import { Body, Controller, Module, Post, RequestMethod, VersioningType, type MiddlewareConsumer } from '@nestjs/common'
import { describe, expect, test } from 'vitest'
import { adapterCases, type AdapterOptions, type StartedAdapter } from '../http/adapters/cases.ts'
import { watched } from '../http/adapters/watched.ts'
import { close, createApp, listen, moduleWith, PLATFORMS, listening, OPTIONS, type App } from './apps.ts'
import { keyedText, postSigned, postUnsigned, reportText, request } from '../support/wire.ts'

function starting(platform: () => ExpressAdapter | FastifyAdapter) {
  return async (options: AdapterOptions): Promise<StartedAdapter> => {
    const webhooks = WebhooksModule.forRoot({ ...options, status: '/webhooks/status', closeDeadlineMs: 100 })
    const app = await createApp(platform(), moduleWith({ imports: [webhooks] }))
    const observed = watched(app.get<Receiver>(getReceiverToken()))
    const url = await listen(app)
    return { url: `${url}webhooks/status`, observed, close: () => close(app) }
  }
}

adapterCases('NestJS on Express', {
  start: starting(PLATFORMS.Express),
  parser: {
    // Anything added to the app runs later; to run before, it must be registered before Nest starts.
    start: starting(() => new ExpressAdapter(express().use(express.json()))),
    code: 'body_already_parsed',
    says: 'before express.json()',
  },
})

adapterCases('NestJS on Fastify', {
  start: starting(PLATFORMS.Fastify),
  parser: {
    start: starting(() => {
      const adapter = PLATFORMS.Fastify()
      adapter
        .getInstance()
        .addHook('onRequest', (request, _reply, done) => void request.raw.resume().once('end', () => done()))
      return adapter
    }),
    code: 'body_already_read',
    says: 'Mount the receiver before anything that reads the body.',
  },
})

/** A body that changes when it is parsed and serialised again. */
const BODY = `{ "messageId" : "m-\u{1F980}", "status":"success" }\r\n`

/** A controller that needs parsed JSON. */
class Orders {
  create(order: unknown): unknown {
    return { order }
  }
}
Controller('orders')(Orders)
Post()(Orders.prototype, 'create', described(Orders.prototype, 'create'))
Body()(Orders.prototype, 'create', 0)

function described(prototype: object, method: string): PropertyDescriptor {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method)
  if (descriptor === undefined) throw new Error(`There is no method ${method}.`)
  return descriptor
}

function observedBy(app: App): ReturnType<typeof watched> {
  return watched(app.get<Receiver>(getReceiverToken()))
}

for (const [name, platform] of Object.entries(PLATFORMS))
  describe(`NestJS on ${name}`, () => {
    const withOrders = (options = OPTIONS): ReturnType<typeof moduleWith> =>
      moduleWith({ imports: [WebhooksModule.forRoot(options)], controllers: [Orders] })

    /** The receiver gets the bytes as they were sent; the controller gets its JSON. */
    async function expectBoth(app: App, ordersPath = 'orders'): Promise<void> {
      const observed = observedBy(app)
      const url = await listening(app)
      expect(await postSigned(`${url}webhooks/status`, BODY)).toBe(204)
      await expect.poll(() => observed().dispatched.map(({ raw }) => raw)).toEqual([Buffer.from(BODY).toString('hex')])
      const order = await request(`${url}${ordersPath}`, { body: '{"item":"tea"}' })
      expect({ status: order.status, text: order.text }).toEqual({ status: 201, text: '{"order":{"item":"tea"}}' })
    }

    test('runs before the parsers that Nest adds, and other controllers keep their JSON', async () => {
      await expectBoth(await createApp(platform(), withOrders()))
    })

    test('runs before anything that main.ts or a module adds; a prefix or a version does not move its URL', async () => {
      const seen: string[] = []
      const record = (
        incoming: { readonly originalUrl?: string; readonly url: string },
        _: unknown,
        next: () => void,
      ) => {
        seen.push(incoming.originalUrl ?? incoming.url)
        next()
      }
      class WithMiddleware {
        configure(consumer: MiddlewareConsumer): void {
          consumer.apply(record).forRoutes('{*path}')
        }
      }
      Module({ imports: [WebhooksModule.forRoot(OPTIONS)], controllers: [Orders] })(WithMiddleware)
      const app = await createApp(platform(), WithMiddleware, { rawBody: true })
      app.setGlobalPrefix('api', { exclude: [{ path: 'health', method: RequestMethod.GET }] })
      app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' })
      app.enableCors()
      app.use(record)
      await expectBoth(app, 'api/v2/orders')
      expect(seen).toEqual(['/api/v2/orders', '/api/v2/orders'])
    })

    test('ignores a trailing slash, the case of letters and a query; refuses another path', async () => {
      const app = await createApp(platform(), withOrders({ ...OPTIONS, received: { path: '/Webhooks/In/' } }))
      const url = await listening(app)
      for (const path of ['webhooks/status/', 'Webhooks/STATUS', 'webhooks/status?a=/b', 'webhooks/in'])
        expect({ path, status: await postUnsigned(`${url}${path}`, keyedText()) }).toEqual({ path, status: 204 })
      for (const path of ['webhooks', 'webhooks/status/more', 'webhooks/status-2', 'api/webhooks/status'])
        expect({ path, status: await postUnsigned(`${url}${path}`, keyedText()) }).toEqual({ path, status: 404 })
    })

    test('each kind has its path and its required proofs; one without a path is not mounted', async () => {
      const app = await createApp(
        platform(),
        withOrders({
          ...OPTIONS,
          status: undefined,
          received: '/in',
          payment: { path: '/pay', proof: 'signature' },
          subscription: { path: '/premium' },
        }),
      )
      const kinds: string[] = []
      app.get<Receiver>(getReceiverToken()).onAny(({ type }) => void kinds.push(type))
      const url = await listening(app)
      for (const path of ['in', 'pay', 'premium'])
        expect(await postSigned(`${url}${path}`, `{"text":"${path}"}`)).toBe(204)
      await expect.poll(() => [...kinds].sort()).toEqual(['payment', 'received', 'subscription.other'])
      expect(await postUnsigned(`${url}pay`, keyedText())).toBe(401)
      expect(await postUnsigned(`${url}in`, keyedText({ text: 'Hello?' }))).toBe(204)
      expect(await postUnsigned(`${url}webhooks/status`, keyedText())).toBe(404)
    })
  })

test.each(Object.entries(PLATFORMS))(
  'on %s, body parsers of Express that main.ts adds run later',
  async (_, platform) => {
    const app = await createApp(platform(), moduleWith({ imports: [WebhooksModule.forRoot(OPTIONS)] }))
    for (const parser of [json(), urlencoded({ extended: true })]) app.use(parser)
    expect(await postSigned(`${await listening(app)}webhooks/status`, BODY)).toBe(204)
  },
)

test('on Fastify, body parsers of main.ts see no callback; works without middie', async () => {
  const { FastifyAdapter } = await import('@nestjs/platform-fastify')
  const adapter = new FastifyAdapter({ skipMiddie: true })
  const module = moduleWith({ imports: [WebhooksModule.forRoot(OPTIONS)] })
  const app = await createApp(adapter, module)
  adapter.getInstance().addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  const observed = observedBy(app)
  expect(await postSigned(`${await listening(app)}webhooks/status`, BODY)).toBe(204)
  await expect.poll(() => observed().dispatched.map(({ raw }) => raw)).toEqual([Buffer.from(BODY).toString('hex')])
})

test('on Fastify, inject() reaches it, too', async () => {
  const adapter = PLATFORMS.Fastify()
  const app = await createApp(adapter, moduleWith({ imports: [WebhooksModule.forRoot(OPTIONS)] }))
  await listening(app)
  const injected = { method: 'POST', url: '/webhooks/status', payload: keyedText() } as const
  expect((await adapter.inject(injected)).statusCode).toBe(204)
  expect((await adapter.inject({ ...injected, payload: reportText() })).statusCode).toBe(401)
})
