/** One attempt at an event: calls each handler that has not succeeded yet, in the order of registration, under a lease. */
import { tracingChannel } from 'node:diagnostics_channel'
import { ATTEMPT_CHANNEL, type AttemptMessage } from '../public/channels.ts'
import { withDeadline } from '../runtime/clock.ts'
import { asRetryLater, HandlerError, MessagingWebhooksError, type NamedEvent } from '../public/errors.ts'
import type { HandlerErrorCode } from '../public/error-table.ts'
import type { EventType, WebhookEvent } from '../public/events.ts'
import { failureLine, failureText } from '../runtime/failure-text.ts'
import type { Awaitable } from '../inbox/store.ts'
import type { Settle } from '../messages/commands.ts'
import type { Claim } from './claim.ts'
import { isPromiseLike } from '../runtime/values.ts'
import { delayAfterFailure } from '../messages/replay.ts'
import type { Registration } from './handlers.ts'
import type { Parts } from './parts.ts'
import { nameOf, type AttemptOutcome, type AttemptSeen, type Work } from './work.ts'

/** The outcome as subscribers of the attempt channel see it. */
const OUTCOMES = { done: 'succeeded', release: 'put off', retry: 'failed', dead: 'failed' } as const

/** Check `hasSubscribers` before building a message, because usually nothing subscribes. */
const attemptChannel = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)

const NONE: readonly Registration[] = []

const TIMED_OUT = Symbol('timed out')

/** An attempt in progress. */
interface Attempt extends AttemptSeen {
  readonly parts: Parts
  readonly event: WebhookEvent
  /** A copy, because handlers may change the event. */
  readonly type: EventType
  readonly done: Registration[]
  readonly thrown: unknown[]
  readonly stamps: number[] | undefined
  /** The longest delay that a handler asked for with `RetryLater`. It applies only if no handler failed. */
  laterMs: number | undefined
}

/**
 * Runs an attempt and returns its settlement: synchronously if no handler returns a promise, undefined if the lease was lost
 * meanwhile. Never throws or rejects because of a handler.
 */
export function makeAttempt(parts: Parts, work: Work, event: WebhookEvent): Awaitable<Settle | undefined> {
  const { type } = event
  const registrations = parts.handlers.byType.get(type) ?? NONE
  if (registrations.length === 0) parts.unhandled(event)
  const before = parts.succeeded.get(work.claim.id) ?? NONE
  const stamps = parts.observers.watch !== undefined && registrations.length > 1 ? [] : undefined
  const attempt: Attempt = {
    parts,
    work,
    event,
    type,
    registrations,
    before,
    done: [...before],
    thrown: [],
    stamps,
    laterMs: undefined,
  }
  return attemptChannel.hasSubscribers ? callTraced(attempt) : callFrom(attempt, 0)
}

/** Publishes in the order of `tracePromise`, which would create a promise for every attempt. */
function callTraced(attempt: Attempt): Awaitable<Settle | undefined> {
  const { parts, work, event, thrown } = attempt
  const message = parts.attemptMessage(event, work.claim)
  const { start, end, asyncStart, asyncEnd, error } = attemptChannel
  function over(settlement: Settle | undefined): void {
    message.outcome = settlement === undefined ? 'lost' : outcomeOf(settlement)
    if (thrown.length === 0) return
    message.error = thrown[0]
    error.publish(message)
  }
  return start.runStores(message, () => {
    const made = message.within === undefined ? callFrom(attempt, 0) : callWithin(attempt, message.within)
    if (!(made instanceof Promise)) over(made)
    end.publish(message)
    if (!(made instanceof Promise)) return made
    return made.then((settlement) => {
      over(settlement)
      asyncStart.publish(message)
      asyncEnd.publish(message)
      return settlement
    })
  })
}

function outcomeOf(settlement: Settle): NonNullable<AttemptMessage['outcome']> {
  return settlement.outcome === 'done' && settlement.isUnhandled === true ? 'unhandled' : OUTCOMES[settlement.outcome]
}

/** Runs the handlers exactly once, even if `within` throws or never calls its function. */
function callWithin(attempt: Attempt, within: (run: () => void) => void): Awaitable<Settle | undefined> {
  const called: Awaitable<Settle | undefined>[] = []
  function run(): void {
    if (called.length === 0) called.push(callFrom(attempt, 0))
  }
  try {
    within(run)
  } catch (error) {
    attempt.parts.report(new MessagingWebhooksError('internal', '`within` of an attempt threw.', { cause: error }))
  }
  run()
  return called[0]
}

/** Calls the handlers from `first` on. Returns a promise only once a handler returns one. */
function callFrom(attempt: Attempt, first: number): Awaitable<Settle | undefined> {
  const { parts, work, event, registrations, before, done } = attempt
  const { claim, controller, transaction } = work
  for (let place = first; place < registrations.length; place += 1) {
    const registration = registrations[place]
    if (registration === undefined || before.includes(registration)) continue
    // `begin` has just checked the lease for the first handler.
    if (place > 0 && parts.shared && parts.leases.isLost(work)) return lost(attempt)
    // A handler timed out and gave up the slot. The next attempt calls the remaining handlers.
    if (controller.signal.aborted) break
    try {
      const context = {
        attempt: claim.attempt,
        signal: controller.signal,
        replay: claim.replay,
        ...transaction?.context,
      }
      const result: unknown = registration.handler(event, context)
      // Call `then` only once: some thenables start their work with each call.
      if (result !== undefined && isPromiseLike(result))
        return waitAndGoOn(attempt, place, registration, Promise.resolve(result))
      done.push(registration)
    } catch (error) {
      if (hasThrown(attempt, error) === 'lost') return lost(attempt)
    }
    attempt.stamps?.push(parts.clock.now())
  }
  return conclude(attempt)
}

async function waitAndGoOn(
  attempt: Attempt,
  place: number,
  registration: Registration,
  result: Promise<unknown>,
): Promise<Settle | undefined> {
  let hung = false
  attempt.parts.leases.watch()
  try {
    hung = await waitFor(attempt, result)
    attempt.done.push(registration)
  } catch (error) {
    if (hasThrown(attempt, error) === 'lost') return lost(attempt)
  }
  attempt.stamps?.push(attempt.parts.clock.now())
  return hung ? conclude(attempt) : callFrom(attempt, place + 1)
}

/** True if the handler timed out. The event then gives up its slot, and its message stays blocked until the handler ends. */
async function waitFor(attempt: Attempt, result: Promise<unknown>): Promise<boolean> {
  const { parts, work } = attempt
  const { clock, handlerTimeoutMs, report } = parts
  const first = await withDeadline<unknown>(clock, handlerTimeoutMs, result, () => TIMED_OUT)
  if (first !== TIMED_OUT) return false
  if (!parts.leases.isLost(work)) {
    const detail = `It ran longer than ${handlerTimeoutMs} ms.`
    const error = new HandlerError('handler_timeout', named(attempt), work.claim.attempt, detail)
    work.controller.abort(error)
    report(error)
    const tookMs = clock.now() - work.begunAtMs
    notifyObserver(attempt, 'timed out')
    parts.observers.meter?.attempted(attempt.type, 'timed_out', tookMs)
    parts.slots.learnPace(tookMs)
    parts.slots.abandon(work)
    parts.loop.wake()
  }
  await result
  return true
}

function hasThrown(attempt: Attempt, error: unknown): 'lost' | 'failed' {
  const { parts, work, thrown } = attempt
  // Thrown because of the abort signal or the lost lease.
  if (parts.leases.isLost(work)) return 'lost'
  const later = asRetryLater(error)
  if (later !== undefined) {
    attempt.laterMs = Math.max(later.delayMs, attempt.laterMs ?? 0)
    return 'failed'
  }
  thrown.push(error)
  parts.report(failure(parts, 'handler_failed', named(attempt), work.claim.attempt, error))
  return 'failed'
}

/** An attempt that timed out was reported at that moment. */
function notifyObserver(attempt: Attempt, outcome: AttemptOutcome): void {
  const { parts, work } = attempt
  if (parts.observers.watch === undefined || (work.isHung && outcome !== 'lost')) return
  parts.observers.watch.attempted(attempt, outcome, parts.clock.now())
}

function lost(attempt: Attempt): Settle | undefined {
  notifyObserver(attempt, 'lost')
  return undefined
}

function conclude(attempt: Attempt): Settle | undefined {
  const { parts, work, type, registrations, done, thrown, laterMs } = attempt
  const { id } = work.claim
  const settling = settlingOf(work.claim)
  const isDone = registrations.every((registration) => done.includes(registration))
  // Completed work may still be settled with an expired lease, unless the handlers were told to stop.
  if (isDone ? work.isLost : parts.leases.isLost(work)) return lost(attempt)
  if (laterMs !== undefined && thrown.length === 0) {
    if (work.transaction === undefined) parts.succeeded.set(id, done)
    return { ...settling, outcome: 'release', inMs: laterMs }
  }
  if (registrations.length === 0) {
    parts.succeeded.delete(id)
    notifyObserver(attempt, 'unhandled')
    return { ...settling, outcome: 'done', isUnhandled: true }
  }
  if (parts.observers.watch !== undefined) notifyObserver(attempt, isDone ? 'succeeded' : 'failed')
  // An attempt that timed out was counted at that moment.
  if (parts.observers.meter !== undefined && !work.isHung)
    parts.observers.meter.attempted(type, isDone ? 'succeeded' : 'failed', parts.clock.now() - work.begunAtMs)
  if (isDone) {
    parts.succeeded.delete(id)
    return { ...settling, outcome: 'done' }
  }
  // A transaction of the store is rolled back with the attempt, so all handlers run again.
  if (work.transaction === undefined) parts.succeeded.set(id, done)
  if (thrown.length > 0) return failed(parts, work.claim, named(attempt), thrown[0])
  return { ...settling, outcome: 'retry', inMs: 0 }
}

/** The settlement of a claim, without its outcome. */
export function settlingOf({ id, messageKey: key, token }: Claim) {
  return { do: 'settle', key, id, token } as const
}

/** Schedules a retry or moves the event to the dead letters. */
function failed(parts: Parts, claim: Claim, event: NamedEvent, cause: unknown): Settle {
  const { retry, report } = parts
  const { id, attempt } = claim
  const delayMs = delayAfterFailure(attempt, retry, Math.random())
  if (delayMs === undefined) {
    parts.succeeded.delete(id)
    report(failure(parts, 'dead_letter', event, attempt, cause))
    return { ...settlingOf(claim), outcome: 'dead', error: failureText(cause, parts.secrets()) }
  }
  return { ...settlingOf(claim), outcome: 'retry', inMs: delayMs }
}

/** Fails an attempt after its transaction was rolled back, although its handlers succeeded. */
export function undone(parts: Parts, claim: Claim, { cause }: MessagingWebhooksError): Settle {
  const event = nameOf(claim)
  parts.report(failure(parts, 'transaction_failed', event, claim.attempt, cause))
  return failed(parts, claim, event, cause)
}

/** The message contains that of the cause, with secrets masked. */
function failure(
  parts: Parts,
  code: HandlerErrorCode,
  event: NamedEvent,
  attempt: number,
  cause: unknown,
): HandlerError {
  const line = failureLine(cause, parts.secrets())
  return new HandlerError(code, event, attempt, `Cause: ${line}${/[.!?]$/.test(line) ? '' : '.'}`, { cause })
}

function named({ work, type }: Attempt): NamedEvent {
  return { ...nameOf(work.claim), type }
}
