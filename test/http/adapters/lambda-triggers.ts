/** Simulates a function's trigger: a small server reads a request whole, builds the event, and sends the answer. */
import http from 'node:http'
import type { LambdaEvent, LambdaHandler, LambdaResult } from 'messaging-webhooks/lambda'
import { listen } from '../../support/receiving.ts'

type Pair = readonly [name: string, value: string]

interface Sent {
  readonly method: string
  readonly path: string
  readonly pairs: readonly Pair[]
  readonly body: string
  readonly isBase64Encoded: boolean
}

type Trigger = (sent: Sent) => object

/** Each value, the last value, or all of them in one: how the triggers pass a header that is sent twice. */
const listsOf = (pairs: readonly Pair[]): Record<string, string[]> => {
  const lists: Record<string, string[]> = {}
  for (const [name, value] of pairs) (lists[name] ??= []).push(value)
  return lists
}
const lastOf = (pairs: readonly Pair[]): Record<string, string> => Object.fromEntries(pairs)
const joined = (pairs: readonly Pair[]): Record<string, string> =>
  Object.fromEntries(Object.entries(listsOf(pairs)).map(([name, values]) => [name, values.join(',')]))
const lowerCase = (pairs: readonly Pair[]): Pair[] => pairs.map(([name, value]) => [name.toLowerCase(), value])

/** Format 1.0 keeps the header names as they were sent. */
export const restApi: Trigger = ({ method, path, pairs, body, isBase64Encoded }) => ({
  resource: '/{proxy+}',
  path,
  httpMethod: method,
  headers: lastOf(pairs),
  multiValueHeaders: listsOf(pairs),
  queryStringParameters: null,
  requestContext: { httpMethod: method, path, identity: { sourceIp: '192.0.2.1' } },
  body: body === '' ? null : body,
  isBase64Encoded,
})

/** Format 2.0, of HTTP APIs and of function URLs. */
export const httpApi: Trigger = ({ method, path, pairs, body, isBase64Encoded }) => ({
  version: '2.0',
  rawPath: path,
  headers: joined(lowerCase(pairs)),
  requestContext: { http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1' } },
  ...(body === '' ? {} : { body }),
  isBase64Encoded,
})

const loadBalancerOf =
  (headersOf: (pairs: readonly Pair[]) => Pick<LambdaEvent, 'headers' | 'multiValueHeaders'>): Trigger =>
  ({ method, path, pairs, body, isBase64Encoded }) => ({
    requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:::targetgroup/a' } },
    httpMethod: method,
    path,
    ...headersOf(lowerCase(pairs)),
    body,
    isBase64Encoded,
  })
export const loadBalancer = loadBalancerOf((pairs) => ({ headers: lastOf(pairs) }))
export const loadBalancerWithLists = loadBalancerOf((pairs) => ({ multiValueHeaders: listsOf(pairs) }))

/** Whether the trigger passes a body as base64; otherwise as text, whatever it contains. */
export type Encoding = (headers: http.IncomingHttpHeaders) => boolean

/** Serves the handler behind the trigger, with this much time for each invocation. */
export async function serveBehind(trigger: Trigger, isBase64: Encoding, handler: LambdaHandler) {
  async function serve(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const { rawHeaders, method = '', url: path = '/', headers } = incoming
    const pairs = rawHeaders.flatMap((name, at): Pair[] => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : []))
    const isBase64Encoded = isBase64(headers)
    const body = Buffer.concat(chunks).toString(isBase64Encoded ? 'base64' : 'utf8')
    // The event travels as JSON, and so does the answer.
    const event = JSON.parse(JSON.stringify(trigger({ method, path, pairs, body, isBase64Encoded }))) as LambdaEvent
    const result = await handler(event, { getRemainingTimeInMillis: () => 30_000 })
    const given = JSON.parse(JSON.stringify(result)) as LambdaResult
    response.statusCode = given.statusCode
    if ('headers' in given) for (const [name, value] of Object.entries(given.headers)) response.setHeader(name, value)
    else for (const [name, values] of Object.entries(given.multiValueHeaders)) response.setHeader(name, values)
    response.end(Buffer.from(given.body, given.isBase64Encoded ? 'base64' : 'utf8'))
  }
  const server = http.createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  const url = await listen(server)
  return {
    url,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
