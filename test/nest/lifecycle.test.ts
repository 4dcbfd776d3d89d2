/** Start and close of a receiver with its app, its options, and several receivers in one app. */
import type http from 'node:http'
import { Inject, type DynamicModule, type Type } from '@nestjs/common'
import {
  DiscoveryModule,
  DiscoveryService,
  HttpAdapterHost,
  MetadataScanner,
  NestFactory,
  Reflector,
} from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { createReceiver, type Receiver, type WebhookEvent } from 'messaging-webhooks'
import { getReceiverToken, WebhooksModule } from 'messaging-webhooks/nest'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLifecycle } from '../../src/nest/lifecycle.ts'
import { readOptions } from '../../src/nest/options.ts'
import { gate } from '../support/gate.ts'
import { AUTH_KEY } from '../support/receiving.ts'
import { keyedText, postUnsigned, reportText } from '../support/wire.ts'
import { createApp, listen, listening, mark, moduleWith, OPTIONS, PLATFORMS } from './apps.ts'
import { ownFile, ownFolder } from '../support/own-folder.ts'

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

/** Handlers that wait until the test releases them, and record whether the database was open. */
function waitingHandlers() {
  const seen: string[] = []
  const begun = gate()
  const released = gate()
  class Handlers {
    private readonly database: Database
    constructor(database: Database) {
      this.database = database
    }
    async on(event: WebhookEvent): Promise<void> {
      begun.open()
      await released.opened
      seen.push(`${'messageId' in event ? event.messageId : '?'}: database ${this.database.isOpen ? 'open' : 'closed'}`)
    }
  }
  Inject(Database)(Handlers, undefined, 0)
  mark(Handlers, 'on', 'message.*')
  return { Handlers, seen, isBegun: begun.opened, goOn: released.open }
}

function rootWith(webhooks: DynamicModule, handlers: Type): Type {
  const database = moduleWith({ providers: [Database], exports: [Database] }, 'DatabaseModule')
  const feature = moduleWith({ imports: [database], providers: [handlers] }, 'FeatureModule')
  return moduleWith({ imports: [database, feature, webhooks] })
}

test.each(Object.entries(PLATFORMS))(
  'on %s, app.close() waits for handlers, dispatches what is in memory, and then closes the database',
  async (_, platform) => {
    const { Handlers, seen, isBegun, goOn } = waitingHandlers()
    const webhooks = WebhooksModule.forRoot({ ...OPTIONS, concurrency: 1, closeDeadlineMs: 60_000 })
    const app = await createApp(platform(), rootWith(webhooks, Handlers))
    const url = await listen(app)
    for (const messageId of ['m-1', 'm-2', 'm-3'])
      expect(await postUnsigned(`${url}webhooks/status`, keyedText({ messageId }))).toBe(204)
    await isBegun
    const closed = app.close()
    // Nest has closed the server or is about to; the handler still runs.
    await new Promise((resolve) => app.getHttpServer().once('close', resolve))
    expect(seen).toEqual([])
    goOn()
    await closed
    expect(seen.sort()).toEqual(['m-1: database open', 'm-2: database open', 'm-3: database open'])
    const receiver = app.get<Receiver>(getReceiverToken())
    expect(await receiver.stats()).toMatchObject({ store: 'closed' })
  },
)

test('dispatches the events of a durable store once the database is ready, with or without a server', async () => {
  const store = sqliteStore(ownFile())
  const credentials = { authKey: AUTH_KEY }
  const accepting = createReceiver({ credentials, store, dispatch: false, logger: false })
  const accept = async (messageId: string): Promise<void> => {
    const body = Buffer.from(keyedText({ messageId }))
    expect(await accepting.receive({ method: 'POST', headers: {}, body })).toMatchObject({ status: 204 })
  }
  const { Handlers, seen, goOn } = waitingHandlers()
  goOn()
  const root = () => rootWith(WebhooksModule.forRoot({ ...OPTIONS, store }), Handlers)
  await accept('m-1')
  const app = await createApp(PLATFORMS.Express(), root())
  await listen(app)
  await expect.poll(() => seen).toEqual(['m-1: database open'])
  await app.close()
  await accept('m-2')
  const worker = await NestFactory.createApplicationContext(root(), { logger: false, abortOnError: false })
  await expect.poll(() => seen).toEqual(['m-1: database open', 'm-2: database open'])
  await worker.close()
  await accepting.close()
})

test('abandons a handler at the deadline, and aborts its signal', async () => {
  const begun = gate()
  const aborted: boolean[] = []
  class Endless {
    on(_event: WebhookEvent, { signal }: { readonly signal: AbortSignal }): Promise<void> {
      begun.open()
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted.push(true)
          resolve()
        })
      })
    }
  }
  mark(Endless, 'on', 'message.*')
  const webhooks = WebhooksModule.forRoot({ ...OPTIONS, closeDeadlineMs: 20 })
  const app = await createApp(PLATFORMS.Express(), rootWith(webhooks, Endless))
  await postUnsigned(`${await listen(app)}webhooks/status`, keyedText())
  await begun.opened
  await app.close()
  expect(aborted).toEqual([true])
})

test('forRootAsync builds its options from injected providers', async () => {
  class Configuration {
    readonly credentials = { authKey: AUTH_KEY }
    readonly path = '/from/configuration'
  }
  const configuration = moduleWith({ providers: [Configuration], exports: [Configuration] })
  const webhooks = WebhooksModule.forRootAsync({
    imports: [configuration],
    inject: [Configuration],
    useFactory: async ({ credentials, path }: Configuration) => {
      await Promise.resolve()
      return { credentials, status: path, logger: false as const }
    },
  })
  for (const platform of Object.values(PLATFORMS)) {
    const app = await createApp(platform(), moduleWith({ imports: [webhooks] }))
    expect(await postUnsigned(`${await listening(app)}from/configuration`, keyedText())).toBe(204)
  }
})

test('several receivers each have a name, and handlers choose theirs', async () => {
  const calls: string[] = []
  class Handlers {
    ofTheShop({ project }: WebhookEvent): void {
      calls.push(`shop: ${project}`)
    }
    ofTheBank({ project }: WebhookEvent): void {
      calls.push(`bank: ${project}`)
    }
  }
  mark(Handlers, 'ofTheShop', 'message.*')
  mark(Handlers, 'ofTheBank', 'message.*', { receiver: 'bank' })
  const bank = {
    name: 'bank',
    credentials: { authKey: 'key-of-the-bank' },
    status: '/bank/status',
    logger: false,
  } as const
  const module = moduleWith({
    imports: [WebhooksModule.forRoot(OPTIONS), WebhooksModule.forRoot(bank)],
    providers: [Handlers],
  })
  const app = await createApp(PLATFORMS.Fastify(), module)
  const url = await listening(app)
  expect(await postUnsigned(`${url}webhooks/status`, keyedText({ project: 'My Shop' }))).toBe(204)
  const ofTheBank = reportText({ project: 'My Bank', authKey: 'key-of-the-bank' })
  expect(await postUnsigned(`${url}bank/status`, ofTheBank)).toBe(204)
  expect(await postUnsigned(`${url}webhooks/status`, ofTheBank)).toBe(401)
  await expect.poll(() => [...calls].sort()).toEqual(['bank: My Bank', 'shop: My Shop'])
  expect(app.get(getReceiverToken('bank'))).not.toBe(app.get(getReceiverToken()))
})

describe('the app is not created', () => {
  class ForNobody {
    on(): void {}
  }
  mark(ForNobody, 'on', 'message.*', { receiver: 'bakn' })
  class ForTheUnnamed {
    on(): void {}
  }
  mark(ForTheUnnamed, 'on', 'message.*')
  const named = { ...OPTIONS, name: 'bank' }

  async function make(imports: readonly DynamicModule[], providers: readonly Type[] = []): Promise<unknown> {
    const app = await createApp(PLATFORMS.Express(), moduleWith({ imports: [...imports], providers: [...providers] }))
    return app.init()
  }

  test.each([
    [
      'twice without a name',
      () => make([WebhooksModule.forRoot(OPTIONS), WebhooksModule.forRoot({ ...OPTIONS, status: '/b' })]),
      'imported twice without a name',
    ],
    [
      'twice with a name',
      () => make([WebhooksModule.forRoot(named), WebhooksModule.forRoot(named)]),
      'imported twice with the name bank',
    ],
    [
      'with two receivers on a path',
      () => make([WebhooksModule.forRoot(OPTIONS), WebhooksModule.forRoot(named)]),
      'two receivers have the path /webhooks/status',
    ],
    [
      'with a handler for a receiver that is not there',
      () => make([WebhooksModule.forRoot(OPTIONS)], [ForNobody]),
      '@OnWebhook of ForNobody.on: no receiver has the name bakn',
    ],
    [
      'with a handler for the receiver without a name',
      () => make([WebhooksModule.forRoot(named)], [ForTheUnnamed]),
      '@OnWebhook of ForTheUnnamed.on names no receiver',
    ],
    [
      'with an option of the receiver that is wrong',
      () => make([WebhooksModule.forRootAsync({ useFactory: () => ({ ...OPTIONS, maxBodyBytes: 0 }) })]),
      'maxBodyBytes is 0',
    ],
  ])('%s', async (_, making, says) => {
    await expect(making()).rejects.toMatchObject({
      code: 'options_invalid',
      message: expect.stringContaining(says) as string,
    })
  })

  test('if the store cannot be opened', async () => {
    const folder = ownFolder()
    const store = sqliteStore(folder)
    await expect(make([WebhooksModule.forRoot({ ...OPTIONS, store })])).rejects.toThrow()
  })
})

test.each([
  [{ status: 'webhooks' }, 'status.path is a string; expected a path'],
  [{ status: '/a/:id' }, 'without parameters or wildcards'],
  [
    { payment: { path: '/pay', prof: 'both' } },
    'Invalid option for WebhooksModule: payment.prof. Did you mean payment.proof?',
  ],
  [{ received: '/Webhooks/Status/' }, 'two kinds of callback have the path /Webhooks/Status/'],
  [{ closeDeadlineMs: -1 }, 'closeDeadlineMs is -1'],
  [{ name: '' }, 'name is an empty string'],
])('forRoot(%o) is refused at its definition', (options, says) => {
  const given: Parameters<typeof WebhooksModule.forRoot>[0] = { ...OPTIONS, ...(options as object) }
  expect(() => WebhooksModule.forRoot(given)).toThrow(says)
})

test('a platform that is neither Express nor Fastify is refused', async () => {
  class OtherAdapter extends ExpressAdapter {
    override getType(): string {
      return 'other'
    }
  }
  const module = moduleWith({ imports: [WebhooksModule.forRoot(OPTIONS)] })
  const made = createApp(new OtherAdapter(), module)
  await expect(made).rejects.toThrow('the app runs on other')
})

/** `Test.createTestingModule` makes the modules first, and then the adapter. */
test('is mounted as soon as there is an adapter', async () => {
  const context = await NestFactory.createApplicationContext(moduleWith({ imports: [DiscoveryModule] }), {
    logger: false,
  })
  onTestFinished(() => context.close())
  for (const platform of Object.values(PLATFORMS)) {
    const host = new HttpAdapterHost()
    const options = readOptions(OPTIONS)
    const receiver = createReceiver(options.receiver)
    onTestFinished(() => receiver.close({ deadlineMs: 0 }))
    const parts = {
      discovery: context.get(DiscoveryService),
      scanner: new MetadataScanner(),
      reflector: context.get(Reflector),
    }
    const lifecycle = createLifecycle({ ...parts, name: undefined, options, receiver, host })
    const adapter = platform()
    host.httpAdapter = adapter
    lifecycle.onModuleInit()
    adapter.initHttpServer({})
    if ('init' in adapter) await adapter.init()
    const server = adapter.getHttpServer() as http.Server
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => adapter.listen(0, '127.0.0.1', () => resolve()))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await postUnsigned(`http://127.0.0.1:${port}/webhooks/status`, keyedText())).toBe(204)
  }
})

test('warns through the logger of the app, ten lines a minute, and logs its routes', async () => {
  const lines: string[] = []
  const logger = {
    log: (line: string) => void lines.push(`log ${line}`),
    warn: (line: string) => void lines.push(`warn ${line}`),
    error() {},
  }
  const { logger: _, ...options } = OPTIONS
  const webhooks = WebhooksModule.forRoot({ ...options, payment: '/webhooks/payment' })
  const app = await createApp(PLATFORMS.Express(), moduleWith({ imports: [webhooks] }), { logger })
  const url = await listening(app)
  for (let nth = 0; nth < 12; nth += 1) expect(await postUnsigned(`${url}webhooks/status`, reportText())).toBe(401)
  const mapped = lines.filter((line) => line.includes('Mapped {'))
  expect(mapped).toEqual([
    'log Mapped {/webhooks/status, POST}: callbacks of the kind status',
    'log Mapped {/webhooks/payment, POST}: callbacks of the kind payment',
  ])
  const warned = lines.filter((line) => line.includes('signature_missing'))
  expect(warned).toHaveLength(10)
  expect(warned[0]).toMatch(/^warn messaging-webhooks refused with 401, signature_missing: /)
})
