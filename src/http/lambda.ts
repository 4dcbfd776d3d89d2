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

/** What a module exports for Lambda to call. */
export type LambdaHandler = (event: LambdaEvent, context?: LambdaContext) => Promise<LambdaResult>

/** What is asked of the second thing that Lambda calls a handler with. */
export interface LambdaContext {
  /** Milliseconds until Lambda ends the invocation. */
  getRemainingTimeInMillis(): number
}

const clock = systemClock()
/** Of the function's time, what is left for the answer to get out. */
const ANSWER_MS = 1_000

/**
 * A handler for the callbacks of one URL; `kind` and `mount` are those of `receiver.middleware`. Lambda freezes the process once
 * it has answered, so it answers when the handlers of a new event have been attempted once, or a second before the function's
 * time is up, where the context tells that time. Throws an `OptionsError` for a kind or a policy that does not exist, and rejects with one for an event that is no
 * request. Contract, service.md#callback-receiver.
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
