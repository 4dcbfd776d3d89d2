import type http from 'node:http'
import type https from 'node:https'
import {
  createReceiver,
  memoryStore,
  type AttemptMessage,
  type HandlerContext,
  type MessageState,
  type ReceiverOptions,
  type Receiver,
  type CallbackSchemas,
  type Store,
  type WebhookEvent,
  type ErasureCounts,
} from 'messaging-webhooks'
import type { DeliveryFailure, ReportType } from '../../src/public/events.ts'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { OptionsOfOneProject, OptionsOfProjects, OtherOptions } from '../../src/receiver/options.ts'

/** An event as a subscribed handler gets it. */
declare function publishedBy<S extends CallbackSchemas>(receiver: Receiver<S>, schemas: S): AttemptMessage<S>

const credentials = { authKey: 'key', signingSecret: 'secret' }

test('a zod schema types the data that it accepts', () => {
  const payment = z.object({ amount: z.coerce.number(), currency: z.string() })
  const receiver = createReceiver({ credentials, schemas: { payment } })
  receiver.on('payment', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ amount: number; currency: string }>()
  })
  receiver.on('received', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>()
  })
  receiver.onAny((event) => {
    if (event.type === 'payment') expectTypeOf(event.data.amount).toEqualTypeOf<number>()
  })
})

test('a valibot schema types data, too, and one for subscriptions types all', () => {
  const subscription = v.object({
    phone: v.pipe(
      v.string(),
      v.transform((digits) => BigInt(digits)),
    ),
  })
  const receiver = createReceiver({ credentials, schemas: { subscription } })
  receiver.on('subscription.activate', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ phone: bigint }>()
  })
  receiver.on('subscription.*', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ phone: bigint }>()
  })
})

test('a schema for one type of premium callback takes precedence over that for all', () => {
  const schemas = {
    'subscription.consent': z.object({ consent: z.string() }),
    subscription: z.object({ all: z.string() }),
  }
  const receiver = createReceiver({ credentials, schemas })
  receiver.on('subscription.consent', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ consent: string }>()
  })
  receiver.on('subscription.other', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ all: string }>()
    expectTypeOf(event.word).toEqualTypeOf<string | undefined>()
  })
})

test('without a schema, data is a record of unknowns', () => {
  const receiver = createReceiver({ credentials })
  expectTypeOf(receiver).toEqualTypeOf<Receiver>()
  receiver.on('payment', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>()
    expectTypeOf(event.data['amount']).toBeUnknown()
  })
})

test('schemas type dead letters and channel messages, too', async () => {
  const schemas = { payment: z.object({ amount: z.number() }) }
  const receiver = createReceiver({ credentials, schemas })
  const { items } = await receiver.deadLetters.list()
  const letter = await receiver.deadLetters.get('an id')
  const message = publishedBy(receiver, schemas)
  for (const event of [...items.map((item) => item.event), ...(letter === undefined ? [] : [letter.event])])
    if (event.type === 'payment') expectTypeOf(event.data).toEqualTypeOf<{ amount: number }>()
  if (message.event.type === 'payment') expectTypeOf(message.event.data).toEqualTypeOf<{ amount: number }>()
  if (message.event.type === 'received') expectTypeOf(message.event.data).toEqualTypeOf<Record<string, unknown>>()
  expectTypeOf<AttemptMessage['event']>().toEqualTypeOf<WebhookEvent>()
})

test('handlers get the store’s additions to the context', () => {
  interface Transaction {
    readonly query: (sql: string) => Promise<void>
  }
  const open = (): never => {
    throw new Error('never opened')
  }
  const store: Store<{ readonly transaction: Transaction }> = {
    capabilities: { name: 'of the test', durable: true, shared: true },
    open,
  }
  const receiver = createReceiver({ credentials, store })
  receiver.on('message.sent', (_event, context) => {
    expectTypeOf(context.transaction).toEqualTypeOf<Transaction>()
    expectTypeOf(context.attempt).toEqualTypeOf<number>()
  })
  receiver.onAny((_event, context) => {
    expectTypeOf(context.transaction).toEqualTypeOf<Transaction>()
  })
  createReceiver({ credentials, store: memoryStore() }).onAny((_event, context) => {
    expectTypeOf(context).toExtend<HandlerContext>()
    expectTypeOf(context).not.toHaveProperty('transaction')
  })
})

test('credentials are pairs, or a function of the project', () => {
  expectTypeOf<typeof credentials>().toExtend<ReceiverOptions['credentials']>()
  createReceiver({ credentials: [credentials, { signingSecret: 'old', notAfter: new Date() }] })
  createReceiver({
    credentials: (project) => {
      expectTypeOf(project).toEqualTypeOf<string | undefined>()
      return undefined
    },
  })
  createReceiver({ credentials: async () => [credentials] })
  createReceiver({ projects: { 'My Shop': credentials } })
  // An environment variable may be unset: creating the receiver checks it.
  expectTypeOf<{ authKey: string | undefined }>().toExtend<ReceiverOptions['credentials']>()
})

test('misspelt options and kinds do not compile', () => {
  expectTypeOf(() => {
    // @ts-expect-error -- not maxBodyByte
    createReceiver({ credentials, maxBodyByte: 1 })
    // @ts-expect-error -- not gapTimeout
    createReceiver({ credentials, ordering: { gapTimeout: 1 } })
    // @ts-expect-error -- not authkey
    createReceiver({ credentials: { authkey: 'key' } })
    // @ts-expect-error -- no such policy
    createReceiver({ credentials, proof: 'none' })
    // @ts-expect-error -- a duration is a number
    createReceiver({ credentials, handlerTimeoutMs: '60 s' })
    // @ts-expect-error -- no Standard Schema
    createReceiver({ credentials, schemas: { payment: { parse: () => ({}) } } })
    const receiver = createReceiver({ credentials })
    // @ts-expect-error -- not statuses
    receiver.middleware('statuses')
    // @ts-expect-error -- no such policy
    receiver.middleware('payment', { proof: 'signatures' })
    // @ts-expect-error -- `policy` is not an option of a mount
    receiver.middleware('payment', { policy: 'both' })
  }).toBeFunction()
})

test('options without credentials, or with both forms of them, do not compile', () => {
  expectTypeOf(() => {
    // @ts-expect-error -- credentials or projects
    createReceiver({})
    // @ts-expect-error -- options are needed
    createReceiver()
    // @ts-expect-error -- other options alone are not enough
    createReceiver({ logger: false, store: memoryStore() })
    // @ts-expect-error -- not credentails
    createReceiver({ credentails: credentials })
    // @ts-expect-error -- not both
    createReceiver({ credentials, projects: { 'My Shop': credentials } })
    // @ts-expect-error -- what may be undefined may be missing
    createReceiver({ credentials: undefined })
    // @ts-expect-error -- not authkey
    createReceiver({ projects: { 'My Shop': { authkey: 'key' } } })
  }).toBeFunction()
  createReceiver({ credentials, projects: undefined })
  createReceiver({ projects: { 'My Shop': credentials }, credentials: undefined })
})

test('partial options can be combined', () => {
  const others: OtherOptions = { logger: false }
  const mine: ReceiverOptions = { ...others, credentials }
  expectTypeOf(createReceiver(mine)).toEqualTypeOf<Receiver>()
  expectTypeOf<OptionsOfOneProject>().toExtend<ReceiverOptions>()
  expectTypeOf<OptionsOfProjects>().toExtend<ReceiverOptions>()
  expectTypeOf<OtherOptions>().not.toExtend<ReceiverOptions>()
})

test('schemas and the store also type the handlers with several projects', () => {
  const open = (): never => {
    throw new Error('never opened')
  }
  const store: Store<{ readonly turn: number }> = {
    capabilities: { name: 'of the test', durable: true, shared: true },
    open,
  }
  const payment = z.object({ amount: z.number() })
  const receiver = createReceiver({ projects: { 'My Shop': credentials }, schemas: { payment }, store })
  receiver.on('payment', (event, context) => {
    expectTypeOf(event.data).toEqualTypeOf<{ amount: number }>()
    expectTypeOf(context.turn).toEqualTypeOf<number>()
  })
})

test('the receiver’s queries are typed', () => {
  const receiver = createReceiver({ credentials })
  expectTypeOf(receiver.messageState).returns.resolves.toEqualTypeOf<MessageState | undefined>()
  expectTypeOf(receiver.deadLetters.replay).returns.resolves.toBeBoolean()
  expectTypeOf(receiver.drain).returns.resolves.toBeBoolean()
})

test('the state of a message, and each of its reports, narrows by its type', async () => {
  const state = await createReceiver({ credentials }).messageState('m-1')
  if (state === undefined) return
  for (const each of [state, ...state.reports]) {
    expectTypeOf(each.type).toEqualTypeOf<ReportType>()
    if (each.type === 'message.failed') expectTypeOf(each.failure).toEqualTypeOf<DeliveryFailure>()
    if (each.type === 'message.queued') expectTypeOf(each.scheduled).toEqualTypeOf<boolean>()
    // @ts-expect-error -- only a queued message may be scheduled
    if (each.type === 'message.delivered') expectTypeOf(each.scheduled).toBeAny()
    // @ts-expect-error -- not every state is a failure
    expectTypeOf(each.failure).toBeAny()
  }
  expectTypeOf(state.project).toEqualTypeOf<string | undefined>()
})

test('closeOnSignal takes one or several signals, and anything that listens', () => {
  expectTypeOf((receiver: Receiver, server: http.Server, secure: https.Server) => {
    expectTypeOf(receiver.closeOnSignal('SIGTERM')).toEqualTypeOf<() => void>()
    receiver.closeOnSignal(['SIGTERM', 'SIGINT'], server)
    receiver.closeOnSignal('SIGTERM', [server, secure], {
      deadlineMs: 1,
      listenMs: 2,
      idleMs: 3,
      afterwards: async () => {},
    })
    receiver.closeOnSignal('SIGTERM', undefined, { idleMs: undefined })
    // @ts-expect-error -- no such signal
    receiver.closeOnSignal('SIGTREM')
    // @ts-expect-error -- not deadline
    receiver.closeOnSignal('SIGTERM', server, { deadline: 1 })
    // @ts-expect-error -- a receiver is not a server
    receiver.closeOnSignal('SIGTERM', receiver)
  }).toBeFunction()
})

const forgetting = createReceiver({ credentials: { authKey: 'a', signingSecret: 's' } })

test('takes one selector, and returns how much it removed', () => {
  expectTypeOf(forgetting.forget({ messageId: 'm', project: 'p' })).resolves.toEqualTypeOf<ErasureCounts>()
  expectTypeOf(forgetting.forget).toBeCallableWith({ recipient: '+254700123456' }, { dryRun: true, compact: false })
  expectTypeOf(forgetting.forget).toBeCallableWith({ before: new Date() })
  expectTypeOf(forgetting.forget).toBeCallableWith({ where: (payload) => payload['account'] === 'a' })
})

test('no selector, two, or a project without effect do not compile', () => {
  // @ts-expect-error: nothing is named
  void forgetting.forget({})
  // @ts-expect-error: two are named
  void forgetting.forget({ messageId: 'm', recipient: 'r' })
  // @ts-expect-error: a time covers every project
  void forgetting.forget({ before: 0, project: 'p' })
})
