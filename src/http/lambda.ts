/**
 * AWS Lambda behind API Gateway (REST or HTTP), a function URL or a load balancer.
 *
 * @module messaging-webhooks/lambda
 */
import { systemClock } from '../runtime/clock.ts'
import type { CallbackKind } from '../public/events.ts'
import { requestOf, resultOf, type LambdaEvent, type LambdaResult } from './lambda-events.ts'
import { checkMount, type MountOptions } from './mount-options.ts'
import { REPLIES } from './replies.ts'
import type { CallbackAnswer, RequestReceiver } from './request.ts'

export type { LambdaEvent, LambdaResult } from './lambda-events.ts'

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
 * after the answer, so the handler answers after the first attempt of a new event's handlers, or one second before the
 * invocation times out, if the context tells. Throws an `OptionsError` for an unknown kind or policy, and rejects with one if
 * the event is not a request. Contract, service.md#callback-receiver.
 */
export function lambdaHandler(receiver: RequestReceiver, kind?: CallbackKind, mount: MountOptions = {}): LambdaHandler {
  checkMount('lambdaHandler', kind, mount)
  return async (event, context) => {
    const request = { ...mount, kind, ...requestOf(event) }
    const answer = await new Promise<CallbackAnswer>((resolve, reject) => {
      let isTaken = false
      const taken = (): void => resolve(REPLIES.taken)
      function waitUntil(attempted: Promise<void>): void {
        isTaken = true
        const leftMs = context?.getRemainingTimeInMillis()
        const cancel = leftMs === undefined ? () => {} : clock.setTimer(taken, leftMs - ANSWER_MS, true)
        void attempted.then(cancel).then(taken)
      }
      receiver.receive({ ...request, waitUntil }).then((given) => isTaken || resolve(given), reject)
    })
    return resultOf(event, answer)
  }
}
