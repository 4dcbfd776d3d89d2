/** One attempt at an event: every handler that has not succeeded yet, in the order in which they were attached. */
import { LRUCache } from 'lru-cache'
import { withDeadline, type Clock } from '../clock.ts'
import { HandlerError, type MessagingWebhooksError, type NamedEvent } from '../errors.ts'
import type { WebhookEvent } from '../events.ts'
import type { Awaitable, Claim, Settlement } from '../inbox/store.ts'
import { isPromiseLike } from '../promises.ts'
import { retryDelayMs, type RetryPolicy } from './backoff.ts'
import { failureText } from './failure-text.ts'
import type { HandlerRegistry, Registration } from './handlers.ts'

export interface AttemptOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly retry: RetryPolicy
  readonly handlerTimeoutMs: number
  readonly revive: (claim: Claim) => Awaitable<WebhookEvent>
  readonly report: (error: MessagingWebhooksError) => void
  /** An attempt is over; `succeeded` where no handler is left to run. */
  readonly handedOver: (event: WebhookEvent, succeeded: boolean) => void
  /** No handler listens to this one. */
  readonly unhandled: (event: WebhookEvent) => void
  /** Keys and secrets, which no error text may keep. */
  readonly secrets: () => readonly string[]
}

interface Attempt {
  readonly claim: Claim
  readonly controller: AbortController
  /** What the store adds to the context. */
  readonly extras: object | undefined
  /** Called when a handler runs past its time: it gives up its slot, and its message waits for it. */
  readonly onHung: () => void
  /** Whether its lease ran out, as far as that was noticed; `look` notices it. */
  readonly isLost: (look?: 'look') => boolean
}

/** Events between two attempts whose succeeded handlers are remembered; after a restart all of them run. */
const PARTLY_DONE_KEPT = 10_000

const NONE_DONE: readonly Registration[] = []

const TIMED_OUT = Symbol('timed out')

interface Attempts {
  /**
   * Makes an attempt and says how to settle it; undefined where its lease ran out meanwhile, for then it counts for
   * nothing. It never rejects for what a handler does.
   */
  make(attempt: Attempt): Promise<Settlement | undefined>
  /** How to settle one whose handlers succeeded, but what they did through the store was undone. */
  undone(claim: Claim, error: MessagingWebhooksError): Settlement
}

export function createAttempts(options: AttemptOptions): Attempts {
  const { clock, handlers, handlerTimeoutMs, retry, report } = options
  const succeeded = new LRUCache<string, readonly Registration[]>({ max: PARTLY_DONE_KEPT })

  /** Undefined where the handler has ended already, so that a plain function costs no promise. */
  function callHandler(
    attempt: Attempt,
    { handler }: Registration,
    event: WebhookEvent,
    named: NamedEvent,
  ): Promise<boolean> | undefined {
    const { claim, controller, extras } = attempt
    const context = { attempt: claim.attempt, signal: controller.signal, replay: claim.replay, ...extras }
    const result: unknown = handler(event, context)
    // Asked for its result once: some only begin to work then, and would do it again.
    return isPromiseLike(result) ? waitFor(attempt, named, Promise.resolve(result)) : undefined
  }

  /** Resolves to whether the handler ran past its time. */
  async function waitFor(attempt: Attempt, named: NamedEvent, result: Promise<unknown>): Promise<boolean> {
    const first = await withDeadline<unknown>(clock, handlerTimeoutMs, result, () => TIMED_OUT)
    if (first !== TIMED_OUT) return false
    if (attempt.isLost('look')) {
      await result
      return true
    }
    const detail = `It ran past ${handlerTimeoutMs} ms.`
    const error = new HandlerError('handler_timeout', named, attempt.claim.attempt, detail)
    attempt.controller.abort(error)
    report(error)
    attempt.onHung()
    await result
    return true
  }

  /** To be tried again, or given up. */
  function failed(claim: Claim, named: NamedEvent, cause: unknown): Settlement {
    const { id, messageKey, token } = claim
    const error = failureText(cause, options.secrets())
    if (claim.attempt >= retry.attempts) {
      succeeded.delete(id)
      report(new HandlerError('dead_letter', named, claim.attempt, undefined, { cause }))
      return { id, messageKey, token, outcome: 'dead', error }
    }
    return { id, messageKey, token, outcome: 'retry', dueMs: clock.now() + retryDelayMs(claim.attempt, retry), error }
  }

  async function make(attempt: Attempt): Promise<Settlement | undefined> {
    const { claim } = attempt
    // What they did through the store goes with the attempt that failed, so all of them run again.
    const remember = attempt.extras === undefined
    const { id, messageKey, token } = claim
    const revived = options.revive(claim)
    const event = revived instanceof Promise ? await revived : revived
    // Handlers may do to the event what they like.
    const named = { ...nameOf(claim), type: event.type }
    const registrations = handlers.for(event.type)
    if (registrations.length === 0) options.unhandled(event)
    const before = succeeded.get(id) ?? NONE_DONE
    const done = [...before]
    const thrown: unknown[] = []
    for (const registration of registrations) {
      if (before.includes(registration)) continue
      if (attempt.isLost('look')) return undefined
      // Once a handler has hung there is no slot to run another in; the next attempt does.
      let hung = attempt.controller.signal.aborted
      if (hung) break
      try {
        const running = callHandler(attempt, registration, event, named)
        hung = running === undefined ? false : await running
        done.push(registration)
      } catch (error) {
        // Thrown for the signal, or for the time that was lost.
        if (attempt.isLost('look')) return undefined
        thrown.push(error)
        report(new HandlerError('handler_failed', named, claim.attempt, undefined, { cause: error }))
      }
      if (hung) break
    }
    const isDone = registrations.every((registration) => done.includes(registration))
    // What is done is done: unless somebody was told to stop, the store may still take it.
    if (attempt.isLost(isDone ? undefined : 'look')) return undefined
    options.handedOver(event, isDone)
    if (isDone) {
      succeeded.delete(id)
      return { id, messageKey, token, outcome: 'done' }
    }
    if (remember) succeeded.set(id, done)
    if (thrown.length > 0) return failed(claim, named, thrown[0])
    return { id, messageKey, token, outcome: 'retry', dueMs: clock.now(), error: '' }
  }

  return {
    make,
    undone(claim, error) {
      report(new HandlerError('transaction_failed', nameOf(claim), claim.attempt, undefined, { cause: error.cause }))
      return failed(claim, nameOf(claim), error.cause)
    },
  }
}

/** What a claim is called before it is read, or where it cannot be. */
export function nameOf({ id, record: { report, kind } }: Claim): NamedEvent {
  return { id, type: report?.type ?? kind ?? 'unrecognized', messageId: report?.messageId }
}
