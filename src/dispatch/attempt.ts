/** One attempt at an event: every handler that has not succeeded yet, in the order in which they were attached. */
import { LRUCache } from 'lru-cache'
import { withDeadline, type Clock } from '../clock.ts'
import { HandlerError, type MessagingWebhooksError, type NamedEvent } from '../errors.ts'
import type { WebhookEvent } from '../events.ts'
import type { Awaitable, Claim, Settlement } from '../inbox/store.ts'
import { isPromiseLike } from '../promises.ts'
import { retryDelayMs, type RetryPolicy } from './backoff.ts'
import { failureText } from './failure-text.ts'
import type { Work } from './capacity.ts'
import type { HandlerRegistry, Registration } from './handlers.ts'

export interface AttemptOptions {
  readonly clock: Clock
  readonly handlers: HandlerRegistry
  readonly retry: RetryPolicy
  readonly handlerTimeoutMs: number
  /** `payload`: what the claim's bytes are as JSON, where that is known. */
  readonly revive: (claim: Claim, payload?: unknown) => Awaitable<WebhookEvent>
  readonly report: (error: MessagingWebhooksError) => void
  /** An attempt is over; `succeeded` where no handler is left to run. */
  readonly handedOver: (event: WebhookEvent, succeeded: boolean) => void
  /** No handler listens to this one. */
  readonly unhandled: (event: WebhookEvent) => void
  /** Keys and secrets, which no error text may keep. */
  readonly secrets: () => readonly string[]
}

interface Hooks<W> {
  /** A handler runs past its time: it gives up its slot, and its message waits for it. */
  readonly onHung: (work: W) => void
  /** Looks whether its lease ran out; `isLost` says what was noticed before. */
  readonly isLost: (work: W) => boolean
}

/** What an attempt is made at. */
type Attempt = Pick<Work, 'claim' | 'controller' | 'payload' | 'extras' | 'isLost'>

/** Events between two attempts whose succeeded handlers are remembered; after a restart all of them run. */
const PARTLY_DONE_KEPT = 10_000

const NONE_DONE: readonly Registration[] = []

const TIMED_OUT = Symbol('timed out')

interface Attempts<W> {
  /**
   * Makes an attempt and says how to settle it, at once where no handler has to be waited for; undefined where its lease ran
   * out meanwhile, for then it counts for nothing. It neither throws nor rejects for what a handler does.
   */
  make(work: W): Awaitable<Settlement | undefined>
  /** How to settle one whose handlers succeeded, but what they did through the store was undone. */
  undone(claim: Claim, error: MessagingWebhooksError): Settlement
}

/** An attempt under way. */
interface Progress<W> {
  readonly work: W
  readonly event: WebhookEvent
  /** Handlers may do to the event what they like. */
  readonly named: NamedEvent
  readonly registrations: readonly Registration[]
  /** Succeeded in an earlier attempt. */
  readonly before: readonly Registration[]
  readonly done: Registration[]
  readonly thrown: unknown[]
}

export function createAttempts<W extends Attempt>(options: AttemptOptions & Hooks<W>): Attempts<W> {
  const { clock, handlers, handlerTimeoutMs, retry, report, onHung, isLost } = options
  const succeeded = new LRUCache<string, readonly Registration[]>({ max: PARTLY_DONE_KEPT })

  /** Undefined where the handler has ended already, so that a plain function costs no promise. */
  function callHandler({ work, event, named }: Progress<W>, { handler }: Registration): Promise<boolean> | undefined {
    const { claim, controller, extras } = work
    const context = { attempt: claim.attempt, signal: controller.signal, replay: claim.replay, ...extras }
    const result: unknown = handler(event, context)
    // Asked for its result once: some only begin to work then, and would do it again.
    return isPromiseLike(result) ? waitFor(work, named, Promise.resolve(result)) : undefined
  }

  /** Resolves to whether the handler ran past its time. */
  async function waitFor(work: W, named: NamedEvent, result: Promise<unknown>): Promise<boolean> {
    const first = await withDeadline<unknown>(clock, handlerTimeoutMs, result, () => TIMED_OUT)
    if (first !== TIMED_OUT) return false
    if (isLost(work)) {
      await result
      return true
    }
    const detail = `It ran past ${handlerTimeoutMs} ms.`
    const error = new HandlerError('handler_timeout', named, work.claim.attempt, detail)
    work.controller.abort(error)
    report(error)
    onHung(work)
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

  function begin(work: W, event: WebhookEvent): Awaitable<Settlement | undefined> {
    const registrations = handlers.for(event.type)
    if (registrations.length === 0) options.unhandled(event)
    const named = { ...nameOf(work.claim), type: event.type }
    const before = succeeded.get(work.claim.id) ?? NONE_DONE
    return callFrom({ work, event, named, registrations, before, done: [...before], thrown: [] }, 0)
  }

  /** Calls the handlers from this one on; a promise once one of them has to be waited for. */
  function callFrom(progress: Progress<W>, first: number): Awaitable<Settlement | undefined> {
    const { work, registrations, before, done } = progress
    for (let place = first; place < registrations.length; place += 1) {
      const registration = registrations[place]
      if (registration === undefined || before.includes(registration)) continue
      if (isLost(work)) return undefined
      // Once a handler has hung there is no slot to run another in; the next attempt does.
      if (work.controller.signal.aborted) break
      try {
        const running = callHandler(progress, registration)
        if (running !== undefined) return waitAndGoOn(progress, place, registration, running)
        done.push(registration)
      } catch (error) {
        if (hasThrown(progress, error) === 'lost') return undefined
      }
    }
    return conclude(progress)
  }

  async function waitAndGoOn(
    progress: Progress<W>,
    place: number,
    registration: Registration,
    running: Promise<boolean>,
  ): Promise<Settlement | undefined> {
    let hung = false
    try {
      hung = await running
      progress.done.push(registration)
    } catch (error) {
      if (hasThrown(progress, error) === 'lost') return undefined
    }
    return hung ? conclude(progress) : callFrom(progress, place + 1)
  }

  function hasThrown({ work, named, thrown }: Progress<W>, error: unknown): 'lost' | 'failed' {
    // Thrown for the signal, or for the time that was lost.
    if (isLost(work)) return 'lost'
    thrown.push(error)
    report(new HandlerError('handler_failed', named, work.claim.attempt, undefined, { cause: error }))
    return 'failed'
  }

  function conclude(progress: Progress<W>): Settlement | undefined {
    const { work, event, named, registrations, done, thrown } = progress
    const { id, messageKey, token } = work.claim
    const isDone = registrations.every((registration) => done.includes(registration))
    // What is done is done: unless somebody was told to stop, the store may still take it.
    if (isDone ? work.isLost : isLost(work)) return undefined
    options.handedOver(event, isDone)
    if (isDone) {
      succeeded.delete(id)
      return { id, messageKey, token, outcome: 'done' }
    }
    // What they did through the store goes with the attempt that failed, so all of them run again.
    if (work.extras === undefined) succeeded.set(id, done)
    if (thrown.length > 0) return failed(work.claim, named, thrown[0])
    return { id, messageKey, token, outcome: 'retry', dueMs: clock.now(), error: '' }
  }

  return {
    make(work) {
      const event = options.revive(work.claim, work.payload)
      return event instanceof Promise ? event.then((revived) => begin(work, revived)) : begin(work, event)
    },
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
