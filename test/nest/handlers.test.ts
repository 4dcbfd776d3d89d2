/** Which methods are handlers, the instance they are called on, and the meaning of their outcome. */
import { Controller, Inject, Injectable, Scope, type Type } from '@nestjs/common'
import { ModuleRef, REQUEST } from '@nestjs/core'
import { EVENT_TYPES, type HandlerContext, type Receiver, type WebhookEvent } from 'messaging-webhooks'
import { createOnWebhook, getReceiverToken, InjectReceiver, OnWebhook, WebhooksModule } from 'messaging-webhooks/nest'
import { concat, of, throwError } from 'rxjs'
import { expect, test } from 'vitest'
import { keyedText, postUnsigned } from '../support/wire.ts'
import { createApp, listening, mark, moduleWith, OPTIONS, PLATFORMS, type App } from './apps.ts'

const webhooks = (): ReturnType<typeof WebhooksModule.forRoot> => WebhooksModule.forRoot(OPTIONS)

/** An app with these providers and a receiver, and a function that posts a report. */
async function appWith(providers: readonly Type[], metadata: Parameters<typeof moduleWith>[0] = {}) {
  const { imports = [], ...others } = metadata
  const app = await createApp(
    PLATFORMS.Express(),
    moduleWith({ ...others, imports: [webhooks(), ...imports], providers: [...providers] }),
  )
  const url = `${await listening(app)}webhooks/status`
  return { app, report: (fields: object) => postUnsigned(url, keyedText(fields)) }
}

/** Runs until nothing is left to dispatch. */
async function drained(app: App): Promise<void> {
  expect(await app.get<Receiver>(getReceiverToken()).drain()).toBe(true)
}

test('calls each decorated method, own or inherited, with the event and the context, for its types only', async () => {
  const calls: unknown[] = []
  class Base {
    inherited({ type }: WebhookEvent): void {
      calls.push(['inherited by', this.constructor.name, type])
    }
    overridden(): void {
      calls.push('overridden in vain')
    }
  }
  class Reports extends Base {
    readonly name = 'of this instance'
    delivered(event: WebhookEvent, context: HandlerContext): void {
      calls.push(['delivered', this.name, event.type, context.attempt, context.signal instanceof AbortSignal])
    }
    several({ type }: WebhookEvent): void {
      calls.push(['several', type])
    }
    twice({ type }: WebhookEvent): void {
      calls.push(['twice', type])
    }
    every({ type }: WebhookEvent): void {
      calls.push(['every', type])
    }
    none(): void {
      calls.push(['none'])
    }
    override overridden(): void {
      calls.push(['overridden'])
    }
  }
  mark(Base, 'inherited', 'message.*')
  // An overriding method needs its own decorator, as everywhere in Nest.
  mark(Base, 'overridden', 'message.*')
  mark(Reports, 'delivered', 'message.delivered')
  mark(Reports, 'several', ['message.failed', 'payment'])
  mark(Reports, 'twice', 'message.delivered')
  mark(Reports, 'twice', 'message.failed')
  mark(Reports, 'every', EVENT_TYPES)
  const { app, report } = await appWith([Reports])
  expect(await report({ messageId: 'm-1', status: 'success' })).toBe(204)
  await drained(app)
  expect(calls).toEqual([
    ['delivered', 'of this instance', 'message.delivered', 1, true],
    ['twice', 'message.delivered'],
    ['every', 'message.delivered'],
    ['inherited by', 'Reports', 'message.delivered'],
  ])
  calls.length = 0
  expect(await report({ messageId: 'm-2', status: 'failed' })).toBe(204)
  await drained(app)
  expect(calls).toEqual([
    ['several', 'message.failed'],
    ['twice', 'message.failed'],
    ['every', 'message.failed'],
    ['inherited by', 'Reports', 'message.failed'],
  ])
})

test('finds handlers in all modules, in controllers, and in factory and value providers; aliases count once', async () => {
  const calls: string[] = []
  class Handlers {
    private readonly name: string
    constructor(name?: string) {
      this.name = name ?? 'class'
    }
    on(): void {
      calls.push(this.name)
    }
  }
  Inject('name')(Handlers, undefined, 0)
  mark(Handlers, 'on', 'message.*')
  class Controlled extends Handlers {}
  Controller('controlled')(Controlled)
  Inject('name')(Controlled, undefined, 0)
  const deep = moduleWith({ providers: [Handlers, { provide: 'name', useValue: 'deep' }] })
  const feature = moduleWith({
    imports: [deep],
    providers: [
      { provide: 'value', useValue: new Handlers('value') },
      { provide: 'factory', useFactory: () => new Handlers('factory') },
      { provide: 'asynchronous', useFactory: () => Promise.resolve(new Handlers('asynchronous')) },
      { provide: 'alias', useExisting: 'value' },
      { provide: 'name', useValue: 'controller' },
      { provide: 'nothing', useValue: undefined },
      { provide: 'bare', useValue: Object.create(null) as object },
    ],
    controllers: [Controlled],
  })
  const { app, report } = await appWith([], { imports: [feature] })
  await report({ messageId: 'm-1' })
  await drained(app)
  expect(calls.sort()).toEqual(['asynchronous', 'controller', 'deep', 'factory', 'value'])
})

test('runs the handlers of a class that two modules provide once, and warns', async () => {
  const calls: string[] = []
  class Twice {
    on(): void {
      calls.push('once')
    }
  }
  mark(Twice, 'on', 'message.*')
  const warnings: string[] = []
  const logger = { log() {}, error() {}, warn: (line: string) => void warnings.push(line) }
  const module = moduleWith({
    imports: [
      webhooks(),
      moduleWith({ providers: [Twice] }, 'OneModule'),
      moduleWith({ providers: [Twice] }, 'OtherModule'),
    ],
  })
  const app = await createApp(PLATFORMS.Express(), module, { logger })
  const url = await listening(app)
  await postUnsigned(`${url}webhooks/status`, keyedText())
  await drained(app)
  expect(calls).toEqual(['once'])
  expect(warnings).toEqual([expect.stringContaining('Twice is a provider of OneModule and of OtherModule')])
})

for (const scope of ['REQUEST', 'TRANSIENT'] as const)
  test(`a provider of the scope ${scope} is created for each event, in its module`, async () => {
    let made = 0
    const calls: unknown[] = []
    class Scoped {
      private readonly number = (made += 1)
      private readonly dependency: string
      constructor(dependency: string) {
        this.dependency = dependency
      }
      first({ type }: WebhookEvent): void {
        calls.push([type, this.dependency, this.number])
      }
      second({ type }: WebhookEvent): void {
        calls.push([type, this.dependency, this.number])
      }
    }
    Inject('dependency')(Scoped, undefined, 0)
    Injectable({ scope: Scope[scope] })(Scoped)
    mark(Scoped, 'first', 'message.delivered')
    mark(Scoped, 'second', 'message.delivered')
    const feature = moduleWith({ providers: [Scoped, { provide: 'dependency', useValue: 'its module' }] })
    const { app, report } = await appWith([], { imports: [feature] })
    expect(made).toBe(0)
    for (const messageId of ['m-1', 'm-2']) {
      await report({ messageId })
      await drained(app)
    }
    // The handlers of one event share its instances.
    const shared = (number: number): unknown => ['message.delivered', 'its module', number]
    expect(calls).toEqual([1, 1, 2, 2].map(shared))
  })

test('with a request-scoped dependency is request-scoped, and gets the event as REQUEST', async () => {
  const seen: unknown[] = []
  class Tenant {
    readonly messageId: unknown
    constructor(event: { readonly messageId: unknown }) {
      this.messageId = event.messageId
    }
  }
  Inject(REQUEST)(Tenant, undefined, 0)
  Injectable({ scope: Scope.REQUEST })(Tenant)
  class Handlers {
    private readonly tenant: Tenant
    constructor(tenant: Tenant) {
      this.tenant = tenant
    }
    on(): void {
      seen.push(this.tenant.messageId)
    }
  }
  Inject(Tenant)(Handlers, undefined, 0)
  mark(Handlers, 'on', 'message.*')
  const { app, report } = await appWith([Tenant, Handlers])
  for (const messageId of ['m-1', 'm-2']) await report({ messageId })
  await drained(app)
  expect(seen.sort()).toEqual(['m-1', 'm-2'])
})

test('retries after a handler throws, rejects, or returns an Observable that fails', async () => {
  const attempts: Record<string, number[]> = { thrown: [], rejected: [], observed: [], made: [] }
  const fails = (name: string, { attempt }: HandlerContext): boolean => (attempts[name]?.push(attempt), attempt < 3)
  class Failing {
    thrown(_event: WebhookEvent, context: HandlerContext): void {
      if (fails('thrown', context)) throw new Error('not now')
    }
    async rejected(_event: WebhookEvent, context: HandlerContext): Promise<void> {
      await Promise.resolve()
      if (fails('rejected', context)) throw new Error('not now')
    }
    observed(_event: WebhookEvent, context: HandlerContext): unknown {
      return fails('observed', context)
        ? concat(
            of(1),
            throwError(() => new Error('not now')),
          )
        : of(1)
    }
  }
  let made = 0
  class FailingToBeMade {
    constructor() {
      made += 1
      if (made < 3) throw new Error('cannot be made now')
    }
    on(_event: WebhookEvent, { attempt }: HandlerContext): void {
      attempts['made']?.push(attempt)
    }
  }
  Injectable({ scope: Scope.REQUEST })(FailingToBeMade)
  mark(Failing, 'thrown', 'message.*')
  mark(Failing, 'rejected', 'message.*')
  mark(Failing, 'observed', 'message.*')
  mark(FailingToBeMade, 'on', 'message.*')
  const { app, report } = await appWith([Failing, FailingToBeMade])
  const codes: string[] = []
  app.get<Receiver>(getReceiverToken()).onError(({ code }) => void codes.push(code))
  expect(await report({ messageId: 'm-1' })).toBe(204)
  await drained(app)
  expect(attempts).toEqual({ thrown: [1, 2, 3], rejected: [1, 2, 3], observed: [1, 2, 3], made: [3] })
  expect(codes).toEqual(Array.from({ length: 8 }, () => 'handler_failed'))
})

test('the app does not start with a handler for an unknown type, and the error names the handler', async () => {
  class Misspelt {
    on(): void {}
  }
  // @ts-expect-error There is no such type.
  const decorate = OnWebhook('message.faild')
  decorate(Misspelt.prototype, 'on', Object.getOwnPropertyDescriptor(Misspelt.prototype, 'on') ?? {})
  const app = await createApp(PLATFORMS.Express(), moduleWith({ imports: [webhooks()], providers: [Misspelt] }))
  await expect(app.init()).rejects.toMatchObject({
    code: 'pattern_unknown',
    message: expect.stringMatching(/@OnWebhook of Misspelt\.on: .*Did you mean "message\.failed"\?/) as string,
  })
})

test('refuses a static method at its definition', () => {
  class Static {
    readonly isInstance = true
    static on(): void {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Static, 'on') ?? {}
  expect(() => createOnWebhook()('message.*')(Static, 'on', descriptor)).toThrow(/Static\.on is not an instance method/)
})

test('the receiver can be injected anywhere', async () => {
  class Deep {
    readonly receiver: Receiver
    constructor(receiver: Receiver) {
      this.receiver = receiver
    }
  }
  InjectReceiver()(Deep, undefined, 0)
  const feature = moduleWith({ providers: [Deep] })
  const { app } = await appWith([], { imports: [feature] })
  const { receiver } = app.get(ModuleRef).get(Deep, { strict: false })
  expect(receiver).toBe(app.get(getReceiverToken()))
  expect(await receiver.stats()).toMatchObject({ store: 'up' })
})
