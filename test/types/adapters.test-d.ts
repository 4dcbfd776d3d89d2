/** The plugin is one of Fastify’s; the handler matches each trigger’s type, without `@types/aws-lambda` in the package’s own types. */
import Fastify from 'fastify'
import type { FastifyPluginAsync } from 'fastify'
import { createReceiver } from 'messaging-webhooks'
import { webhooks, type WebhooksOptions } from 'messaging-webhooks/fastify'
import { expectTypeOf, test } from 'vitest'
import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  Context,
  LambdaFunctionURLHandler,
} from 'aws-lambda'
import { lambdaHandler, type LambdaHandler, type LambdaResult } from 'messaging-webhooks/lambda'

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

const ofFunction = createReceiver({ credentials: { authKey: 'key' } })
const handler = lambdaHandler(ofFunction, 'status')

test('a handler of each trigger', () => {
  expectTypeOf(handler).toEqualTypeOf<LambdaHandler>()
  const handlers: [APIGatewayProxyHandler, APIGatewayProxyHandlerV2, LambdaFunctionURLHandler, ALBHandler] = [
    handler,
    handler,
    handler,
    handler,
  ]
  expectTypeOf(handlers).not.toBeAny()
})

test('the events of each trigger', () => {
  expectTypeOf<Parameters<LambdaHandler>['length']>().toEqualTypeOf<1 | 2>()
  expectTypeOf<APIGatewayProxyEvent | APIGatewayProxyEventV2 | ALBEvent>().toExtend<Parameters<LambdaHandler>[0]>()
  expectTypeOf<Context>().toExtend<NonNullable<Parameters<LambdaHandler>[1]>>()
  expectTypeOf<ReturnType<LambdaHandler>>().resolves.toEqualTypeOf<LambdaResult>()
})

test('kinds and policies that do not exist do not compile', () => {
  // @ts-expect-error An unknown kind.
  lambdaHandler(ofFunction, 'state')
  // @ts-expect-error An unknown policy.
  lambdaHandler(ofFunction, 'status', { proof: 'signatur' })
})
