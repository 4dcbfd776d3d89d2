/** The receiver's middleware in a Nest app, as the guide mounts it, on both of Nest's platforms. */
import 'reflect-metadata'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Body, Controller, Inject, Module, Post, type INestApplication, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { json } from 'express'
import { createReceiver } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { gate } from '../../support/gate.ts'
import { CREDENTIALS } from '../../support/receiving.ts'
import { keyedText, postSigned, postUnsigned, request } from '../../support/wire.ts'
import { adapterCases, type AdapterOptions, type StartedAdapter } from './cases.ts'
import { watched } from './watched.ts'

const PLATFORMS = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() } as const

type Platform = ReturnType<(typeof PLATFORMS)[keyof typeof PLATFORMS]>

/** A controller that needs parsed JSON. Decorators are called as functions: the project's own syntax is erasable. */
class Orders {
  create(order: unknown): unknown {
    return { order }
  }
}
Controller('orders')(Orders)
Post()(Orders.prototype, 'create', Object.getOwnPropertyDescriptor(Orders.prototype, 'create') ?? {})
Body()(Orders.prototype, 'create', 0)

class AppModule {
  readonly isModule = true
}
Module({ controllers: [Orders] })(AppModule)

async function createApp(module: Type, platform: Platform, rawBody: boolean): Promise<App> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- Nest's type of options is a class
  return NestFactory.create<App>(module, platform, { logger: false, rawBody })
}

/** `before` runs before the receiver is mounted. */
async function start(
  platform: Platform,
  options: Partial<AppOptions> = {},
  before: (app: App) => unknown = () => {},
): Promise<StartedAdapter> {
  const { rawBody = false, ...others } = options
  const receiver = createReceiver({ credentials: CREDENTIALS, logger: false, ...others })
  const observed = watched(receiver)
  const app = await createApp(AppModule, platform, rawBody)
  app.setGlobalPrefix('api')
  before(app)
  app.use('/webhooks/status', receiver.middleware('status'))
  await app.listen(0, '127.0.0.1')
  // The address of a server that listens on a port.
  const { port } = app.getHttpServer().address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks/status`,
    observed,
    async close() {
      app.getHttpServer().closeAllConnections()
      await app.close()
      await receiver.close({ deadlineMs: 100 })
    },
  }
}

type App = INestApplication<Server>
type AppOptions = AdapterOptions & { readonly rawBody: boolean }

for (const [name, platform] of Object.entries(PLATFORMS)) {
  adapterCases(`NestJS on ${name}`, {
    start: (options) => start(platform(), options),
    parser: {
      start: (options) => start(platform(), options, (app) => void app.use(json())),
      code: 'body_already_parsed',
      says: 'before express.json()',
    },
  })

  test.each([false, true])(
    `on ${name}, the receiver gets exact bytes and controllers their JSON; rawBody: %s`,
    async (rawBody) => {
      const app = await start(platform(), { rawBody })
      onTestFinished(async () => {
        await app.close()
      })
      const body = `{ "messageId" : "m-\u{1F980}", "status":"success" }\r\n`
      expect(await postSigned(app.url, body)).toBe(204)
      await expect
        .poll(async () => (await app.observed()).dispatched.map(({ raw }) => raw))
        .toEqual([Buffer.from(body).toString('hex')])
      const order = await request(new URL('/api/orders', app.url).href, { body: '{"item":"tea"}' })
      expect({ status: order.status, text: order.text }).toEqual({ status: 201, text: '{"order":{"item":"tea"}}' })
    },
  )
}

/** A database as an app has it: open while the app runs. */
class Database {
  isOpen = false
  onModuleInit(): void {
    this.isOpen = true
  }
  onApplicationShutdown(): void {
    this.isOpen = false
  }
}

class DatabaseModule {
  readonly isModule = true
}
Module({ providers: [Database], exports: [Database] })(DatabaseModule)

test.each(Object.entries(PLATFORMS))(
  'on %s, app.close() waits for handlers, dispatches what is in memory, and then closes the database',
  async (_, platform) => {
    const begun = gate()
    const released = gate()
    const seen: string[] = []
    class Webhooks {
      readonly receiver = createReceiver({ credentials: CREDENTIALS, concurrency: 1, logger: false })
      constructor(database: Database) {
        this.receiver.on('message.*', async ({ messageId }) => {
          begun.open()
          await released.opened
          seen.push(`${messageId}: database ${database.isOpen ? 'open' : 'closed'}`)
        })
      }
      onApplicationBootstrap(): Promise<void> {
        return this.receiver.start()
      }
      onApplicationShutdown(): Promise<void> {
        return this.receiver.close({ deadlineMs: 60_000 })
      }
    }
    Inject(Database)(Webhooks, undefined, 0)
    class WebhooksModule {
      readonly isModule = true
    }
    Module({ imports: [DatabaseModule], providers: [Webhooks] })(WebhooksModule)
    const app = await createApp(WebhooksModule, platform(), false)
    app.use('/status', app.get(Webhooks).receiver.middleware('status'))
    await app.listen(0, '127.0.0.1')
    const url = `${await app.getUrl()}/status`
    for (const messageId of ['m-1', 'm-2', 'm-3']) expect(await postUnsigned(url, keyedText({ messageId }))).toBe(204)
    await begun.opened
    const closed = app.close()
    await new Promise((resolve) => app.getHttpServer().once('close', resolve))
    expect(seen).toEqual([])
    released.open()
    await closed
    expect(seen.sort()).toEqual(['m-1: database open', 'm-2: database open', 'm-3: database open'])
    expect(await app.get(Webhooks).receiver.stats()).toMatchObject({ store: 'closed' })
  },
)
