/** The handler matches each trigger's type, without `@types/aws-lambda` in the package's own types. */
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
import { createReceiver } from 'messaging-webhooks'
import { lambdaHandler, type LambdaHandler, type LambdaResult } from 'messaging-webhooks/lambda'
import { expectTypeOf, test } from 'vitest'

const receiver = createReceiver({ credentials: { authKey: 'key' } })
const handler = lambdaHandler(receiver, 'status')

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
  lambdaHandler(receiver, 'state')
  // @ts-expect-error An unknown policy.
  lambdaHandler(receiver, 'status', { proof: 'signatur' })
})
