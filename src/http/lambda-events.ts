/** The events and answers of API Gateway (REST and HTTP), function URLs and load balancers. */
import { OptionsError } from '../public/errors.ts'
import type { CallbackAnswer, CallbackRequest } from './request.ts'

/** The fields of the triggers' events that are read. The types of `@types/aws-lambda` are assignable. */
export interface LambdaEvent {
  readonly httpMethod?: string
  readonly requestContext?:
    | {
        readonly http?: { readonly method: string; readonly sourceIp: string }
        readonly identity?: { readonly sourceIp: string }
        readonly elb?: object
      }
    | null
    | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined
  /** Text, or what an earlier parser made of it. A signature cannot be checked over a parsed body. */
  readonly body?: unknown
  readonly isBase64Encoded?: boolean
}

/** An answer for these triggers. A load balancer that sends header lists expects header lists. */
export type LambdaResult = { statusCode: number; body: string; isBase64Encoded: boolean } & (
  { headers: Record<string, string> } | { multiValueHeaders: Record<string, string[]> }
)

const FIX = 'Take away the middleware that parses bodies before this handler: event.body must be as Lambda gave it.'

/** Throws an `OptionsError` if the event is not a request. */
export function requestOf(event: LambdaEvent | null | undefined): CallbackRequest {
  const { requestContext, ...request } = event ?? {}
  const { http, identity } = requestContext ?? {}
  const { body, isBase64Encoded, multiValueHeaders, headers } = request
  const method = http?.method ?? request.httpMethod
  if (method === undefined)
    throw new OptionsError(
      'lambdaHandler: the event is not an HTTP request; expected one of API Gateway, a function URL or a load balancer.',
    )
  const parsed = body === undefined || body === null ? undefined : { parsed: body, fix: FIX }
  return {
    method,
    // If both forms are present, only the lists contain every value.
    headers: multiValueHeaders ?? headers ?? {},
    body: typeof body === 'string' ? Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8') : parsed,
    remoteAddress: (http ?? identity)?.sourceIp,
  }
}

export function resultOf({ headers, multiValueHeaders }: LambdaEvent, answer: CallbackAnswer): LambdaResult {
  const result = { statusCode: answer.status, body: answer.body ?? '', isBase64Encoded: false }
  // The platform owns the connection and its framing.
  const own = Object.entries(answer.headers).filter(([name]) => name !== 'connection' && name !== 'content-length')
  return headers || !multiValueHeaders
    ? { ...result, headers: Object.fromEntries(own) }
    : { ...result, multiValueHeaders: Object.fromEntries(own.map(([name, value]) => [name, [value]])) }
}
