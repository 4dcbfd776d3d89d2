/**
 * AWS Lambda behind API Gateway (REST or HTTP), a function URL or a load balancer.
 *
 * @module messaging-webhooks/lambda
 */
import '../runtime/supported-node.ts'
import { systemClock } from '../runtime/clock.ts'
import { OptionsError } from '../public/errors.ts'
import type { CallbackKind } from '../public/events.ts'
import { REPLIES, type CallbackAnswer } from './replies.ts'
import { checkMount, type MountOptions } from './check-request.ts'
import type { CallbackRequest, RequestReceiver } from './request.ts'

/** The fields that the handler reads of a trigger's event. The types of `@types/aws-lambda` are assignable. */
export interface LambdaEvent {
  readonly httpMethod?: string
  readonly requestContext?:
    | {
        readonly http?: { readonly method: string }
        readonly identity?: object
        readonly elb?: object
      }
    | null
    | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined
  /** Text, or the output of an earlier parser. The signature of a parsed body cannot be checked. */
  readonly body?: unknown
  readonly isBase64Encoded?: boolean
}

/** An answer for these triggers. A load balancer that sends header lists expects header lists. */
export type LambdaResult = { statusCode: number; body: string; isBase64Encoded: boolean } & (
  { headers: Record<string, string> } | { multiValueHeaders: Record<string, string[]> }
)

/** The handler that a module exports. */
export type LambdaHandler = (event: LambdaEvent, context?: LambdaContext) => Promise<LambdaResult>

/** The part of Lambda's context that is used. */
export interface LambdaContext {
  /** Milliseconds until Lambda ends the invocation. */
  getRemainingTimeInMillis(): number
}

const clock = systemClock()
/** Time reserved at the end of the invocation for sending the answer. */
const ANSWER_MS = 1_000

/**
 * A handler for the callbacks of one URL. `kind` and `mount` are those of `receiver.middleware`. Lambda freezes the process
 * after the answer, so the handler answers after the first attempt of a new event's handlers or, with a `context`, at the latest
 * one second before the invocation times out. Throws an `OptionsError` for an unknown kind or policy, and rejects with one if the
 * event is not a request. Contract, service.md#callback-receiver.
 */
export function lambdaHandler(receiver: RequestReceiver, kind?: CallbackKind, mount: MountOptions = {}): LambdaHandler {
  checkMount('lambdaHandler', kind, mount)
  return async (event, context) => {
    const request = { ...mount, kind, ...requestOf(event) }
    const answer = await new Promise<CallbackAnswer>((resolve, reject) => {
      let isDeferred = false
      const answer204 = (): void => resolve(REPLIES.accepted)
      function waitUntil(attempted: Promise<void>): void {
        isDeferred = true
        const leftMs = context?.getRemainingTimeInMillis()
        const cancel = leftMs === undefined ? () => {} : clock.setTimer(answer204, leftMs - ANSWER_MS, true)
        void attempted.then(cancel).then(answer204)
      }
      receiver.receive({ ...request, waitUntil }).then((given) => isDeferred || resolve(given), reject)
    })
    return resultOf(event, answer)
  }
}

const FIX = 'Remove the middleware that parses bodies before this handler: event.body must be as Lambda passed it.'

/** Throws an `OptionsError` if the event is not a request. */
function requestOf(event: LambdaEvent | null | undefined): CallbackRequest {
  const { requestContext, ...request } = event ?? {}
  const http = requestContext?.http
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
  }
}

function resultOf({ headers, multiValueHeaders }: LambdaEvent, answer: CallbackAnswer): LambdaResult {
  const result = { statusCode: answer.status, body: answer.body ?? '', isBase64Encoded: false }
  // The platform owns the connection and its framing.
  const own = Object.entries(answer.headers).filter(([name]) => name !== 'connection' && name !== 'content-length')
  return headers || !multiValueHeaders
    ? { ...result, headers: Object.fromEntries(own) }
    : { ...result, multiValueHeaders: Object.fromEntries(own.map(([name, value]) => [name, [value]])) }
}
