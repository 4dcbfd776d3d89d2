/** The handler for AWS Lambda: the cases of every adapter behind each trigger, and the parts specific to Lambda. */
import { gzipSync } from 'node:zlib'
import { createReceiver, OptionsError, type Receiver } from 'messaging-webhooks'
import { lambdaHandler, type LambdaEvent } from 'messaging-webhooks/lambda'
import { describe, expect, onTestFinished, test } from 'vitest'
import { withCredentials, type SomeOptions } from '../support/receiving.ts'
import { keyedText, reportText, signatureOf } from '../support/wire.ts'
import { adapterCases, type Adapter, type AdapterOptions } from './adapters/cases.ts'
import {
  httpApi,
  loadBalancer,
  loadBalancerWithLists,
  restApi,
  serveBehind,
  type Encoding,
} from './adapters/lambda-triggers.ts'
import { watched } from './adapters/watched.ts'

/** `*∕*` among the binary media types of a REST API. */
const always: Encoding = () => true
/** The default of a load balancer. */
const unlessText: Encoding = ({ 'content-type': type = '', 'content-encoding': encoding }) =>
  encoding !== undefined || !/^(text\/|application\/(json|javascript|xml))/.test(type)
const never: Encoding = () => false

function starting(trigger: Parameters<typeof serveBehind>[0], encoding: Encoding): Adapter['start'] {
  return async (options: AdapterOptions) => {
    const receiver = createReceiver(options)
    const { url, close } = await serveBehind(trigger, encoding, lambdaHandler(receiver, 'status'))
    return {
      url: `${url}status`,
      observed: watched(receiver),
      close() {
        close()
        return receiver.close({ deadlineMs: 100 })
      },
    }
  }
}

/** As middleware for JSON bodies leaves it. */
const parsing: Adapter['parser'] = {
  async start(options) {
    const receiver = createReceiver(options)
    const handler = lambdaHandler(receiver, 'status')
    const { url, close } = await serveBehind(httpApi, never, (event, context) =>
      handler({ ...event, body: JSON.parse(String(event.body)) as unknown }, context),
    )
    return {
      url,
      observed: watched(receiver),
      close() {
        close()
        return receiver.close({ deadlineMs: 100 })
      },
    }
  },
  code: 'body_already_parsed',
  says: 'event.body must be as Lambda passed it',
}

const CANNOT: NonNullable<Adapter['cannot']> = {
  'a client that never stops sending': 'the platform reads the request, within its own limit of bytes',
  'a stalled body': 'the platform reads the request, within its own limit of time',
  'a client that leaves': 'the platform invokes nothing before the request is whole',
}
const NO_UTF_8 = 'the platform hands a JSON body over as text, in which other bytes than UTF-8 are lost'

adapterCases('API Gateway, REST, with every type binary', {
  start: starting(restApi, always),
  parser: parsing,
  cannot: CANNOT,
})

adapterCases('API Gateway, HTTP, and function URLs', {
  start: starting(httpApi, never),
  parser: parsing,
  cannot: { ...CANNOT, 'bytes that are not UTF-8, to the byte': NO_UTF_8, 'a compressed body': NO_UTF_8 },
})

adapterCases('a load balancer', {
  start: starting(loadBalancer, unlessText),
  parser: parsing,
  cannot: {
    ...CANNOT,
    'bytes that are not UTF-8, to the byte': NO_UTF_8,
    'a signature header sent twice': 'without multi-value headers the load balancer passes only the last value',
  },
})

adapterCases('a load balancer with multi-value headers', {
  start: starting(loadBalancerWithLists, unlessText),
  parser: parsing,
  cannot: { ...CANNOT, 'bytes that are not UTF-8, to the byte': NO_UTF_8 },
})

function receiverOf(options: SomeOptions = {}): Receiver {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  onTestFinished(() => receiver.close({ deadlineMs: 0 }))
  return receiver
}

/** An event of an HTTP API, with a minute to handle it. */
function signed(body = reportText()): LambdaEvent {
  return {
    requestContext: { http: { method: 'POST' } },
    headers: { 'x-service-signature': signatureOf(body) },
    body,
    isBase64Encoded: false,
  }
}
const left = (ms: number) => ({ getRemainingTimeInMillis: () => ms })
const ACCEPTED = { statusCode: 204, body: '', isBase64Encoded: false, headers: {} }

describe.each(['stored', 'handled'] as const)('a receiver that answers once it has %s', (answer) => {
  test('the answer waits for the first attempt, whatever its result', async () => {
    const receiver = receiverOf({ answer })
    const steps: string[] = []
    let fail = (): void => {}
    receiver.onAny(() => new Promise<void>((_, reject) => (fail = () => reject(new Error('Not yet.')))))
    receiver.onError(({ code }) => void steps.push(code))
    const answered = lambdaHandler(receiver, 'status')(signed(), left(60_000)).then((result) => {
      steps.push('answered')
      return result
    })
    await expect.poll(async () => (await receiver.stats()).running).toBe(1)
    await new Promise(setImmediate)
    expect(steps).toEqual([])
    fail()
    expect(await answered).toEqual(ACCEPTED)
    expect(steps).toEqual(['handler_failed', 'answered'])
  })

  test("the answer waits no longer than the function's remaining time", async () => {
    const receiver = receiverOf({ answer })
    receiver.onAny(() => new Promise(() => {}))
    expect(await lambdaHandler(receiver, 'status')(signed(), left(1_001))).toEqual(ACCEPTED)
    expect(await lambdaHandler(receiver, 'status')(signed(reportText({ messageId: 'm-2' })), left(3))).toEqual(ACCEPTED)
    expect(await receiver.stats()).toMatchObject({ running: 2, accepted: 2 })
  })

  test('a duplicate or a refusal does not wait', async () => {
    const receiver = receiverOf({ answer })
    receiver.onAny(() => new Promise(() => {}))
    const handler = lambdaHandler(receiver, 'status')
    await handler(signed(), left(0))
    expect(await handler(signed(), left(3_600_000))).toEqual(ACCEPTED)
    expect(await handler({ ...signed(), headers: {} }, left(3_600_000))).toMatchObject({ statusCode: 401 })
  })
})

test('a URL has its own kind and proofs', async () => {
  const receiver = receiverOf()
  const types: string[] = []
  receiver.onAny(({ type }) => void types.push(type))
  const handler = lambdaHandler(receiver, 'payment', { proof: 'signature' })
  expect(await handler({ ...signed(keyedText({ amount: 100 })), headers: {} }, left(9_000))).toMatchObject({
    statusCode: 401,
  })
  expect(await handler(signed(keyedText({ amount: 100 })), left(9_000))).toEqual(ACCEPTED)
  expect(types).toEqual(['payment'])
})

test('an answer has headers in the format of the event', async () => {
  const handler = lambdaHandler(receiverOf(), 'status')
  const refused = { statusCode: 405, isBase64Encoded: false }
  const headers = { 'content-type': 'application/json; charset=utf-8', allow: 'POST' }
  const lists = { 'content-type': ['application/json; charset=utf-8'], allow: ['POST'] }
  for (const event of [
    { headers: {}, multiValueHeaders: {} },
    { headers: {} },
    {},
    { headers: null, multiValueHeaders: null },
  ])
    expect(await handler({ httpMethod: 'GET', ...event }, left(9_000))).toMatchObject({ ...refused, headers })
  const result = await handler({ httpMethod: 'GET', multiValueHeaders: {} }, left(9_000))
  expect(result).toMatchObject({ ...refused, multiValueHeaders: lists })
  expect(result).not.toHaveProperty('headers')
})

test('an exact body comes as base64, whatever its content', async () => {
  const receiver = receiverOf()
  const bytes = gzipSync(reportText())
  const event = { ...signed(), body: bytes.toString('base64'), isBase64Encoded: true }
  const result = await lambdaHandler(receiver)(
    { ...event, headers: { 'X-Service-Signature': signatureOf(bytes) } },
    left(9_000),
  )
  expect(result).toEqual(ACCEPTED)
})

test.each<[string, object]>([
  ['of a queue', { Records: [] }],
  ['of the console', { key1: 'value1' }],
])('an event %s is not a callback, and fails the invocation', async (_, event) => {
  const invoked = lambdaHandler(receiverOf(), 'status')({ ...event }, left(9_000))
  await expect(invoked).rejects.toThrow('lambdaHandler: the event is not an HTTP request; expected one of API Gateway')
  await expect(invoked).rejects.toBeInstanceOf(OptionsError)
})

test('rejects an unknown kind and an unknown policy when the handler is created', () => {
  const make = lambdaHandler as (receiver: Receiver, kind: string, mount?: object) => unknown
  expect(() => make(receiverOf(), 'state')).toThrow('lambdaHandler: unknown kind of callback.')
  expect(() => make(receiverOf(), 'status', { prof: 'both' })).toThrow('Invalid option for lambdaHandler: prof')
})
