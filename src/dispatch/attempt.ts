/** One attempt at an event: every handler that has not succeeded yet, in the order in which they were attached, under a lease. */
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { ATTEMPT_CHANNEL, type AttemptMessage } from '../channels.ts'
import { withDeadline } from '../clock.ts'
import { asRetryLater, HandlerError, MessagingWebhooksError, type NamedEvent } from '../errors.ts'
import { HANDED_OVER_CHANNEL, type EventType, type WebhookEvent } from '../events.ts'
import { failureText } from '../failure-text.ts'
import type { Awaitable, Claim, Settlement } from '../inbox/store.ts'
import { isPromiseLike } from '../promises.ts'
import { retryDelayMs } from '../backoff.ts'
import { allInHand, giveUp, learnPace } from './capacity.ts'
import { wake } from './claim-loop.ts'
import type { Registration } from './handlers.ts'
import type { AttemptOutcome, AttemptSeen, DispatchState, Work } from './state.ts'

/** What followers are told. */
const OUTCOMES = { done: 'succeeded', unbegun: 'put off', retry: 'failed', dead: 'failed' } as const

/** Asked before anything is made for whoever listens: mostly nobody does. */
export const handedOverChannel = channel(HANDED_OVER_CHANNEL)

const attemptChannel = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)

const NONE: readonly Registration[] = []

const TIMED_OUT = Symbol('timed out')

/** An attempt under way. */
interface Attempt extends AttemptSeen {
  readonly state: DispatchState
  readonly event: WebhookEvent
  /** Handlers may do to the event what they like. */
  readonly type: EventType
  readonly done: Registration[]
  readonly thrown: unknown[]
  readonly stamps: number[] | undefined
  /** A handler is to be called later, though none has failed. */
  putOffMs: number | undefined
}

/**
 * Makes an attempt and says how to settle it, at once where no handler has to be waited for; undefined where its lease ran
 * out meanwhile, for then it counts for nothing. It neither throws nor rejects for what a handler does.
 */
export function makeAttempt(state: DispatchState, work: Work, event: WebhookEvent): Awaitable<Settlement | undefined> {
  const { type } = event
  const registrations = state.handlers.byType.get(type) ?? NONE
  if (registrations.length === 0) state.unhandled(event)
  const before = state.succeeded.get(work.claim.id) ?? NONE
  const stamps = state.watch !== undefined && registrations.length > 1 ? [] : undefined
  const attempt: Attempt = {
    state,
    work,
    event,
    type,
    registrations,
    before,
    done: [...before],
    thrown: [],
    stamps,
    putOffMs: undefined,
  }
  return attemptChannel.hasSubscribers ? callTraced(attempt) : callFrom(attempt, 0)
}

/** The same for whoever follows attempts; in the order in which `tracePromise` publishes, which would make a promise of each. */
function callTraced(attempt: Attempt): Awaitable<Settlement | undefined> {
  const { state, work, event, thrown } = attempt
  const message = state.attemptMessage(event, work.claim)
  const { start, end, asyncStart, asyncEnd, error } = attemptChannel
  function over(settlement: Settlement | undefined): void {
    message.outcome = settlement === undefined ? 'lost' : OUTCOMES[settlement.outcome]
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

/** The handlers run once, whatever a follower's function does: one that throws, or calls nothing, keeps none from it. */
function callWithin(attempt: Attempt, within: (run: () => void) => void): Awaitable<Settlement | undefined> {
  const called: Awaitable<Settlement | undefined>[] = []
  function run(): void {
    if (called.length === 0) called.push(callFrom(attempt, 0))
  }
  try {
    within(run)
  } catch (error) {
    attempt.state.report(new MessagingWebhooksError('internal', '`within` of an attempt threw.', { cause: error }))
  }
  run()
  return called[0]
}

/** Calls the handlers from this one on; a promise once one of them has to be waited for, so that plain functions cost none. */
function callFrom(attempt: Attempt, first: number): Awaitable<Settlement | undefined> {
  const { state, work, event, registrations, before, done } = attempt
  const { claim, controller, extras } = work
  for (let place = first; place < registrations.length; place += 1) {
    const registration = registrations[place]
    if (registration === undefined || before.includes(registration)) continue
    // Of the first one, whoever began the attempt has looked just now.
    if (place > 0 && state.shared && isLeaseLost(state, work)) return lost(attempt)
    // Once a handler has hung there is no slot to run another in; the next attempt does.
    if (controller.signal.aborted) break
    try {
      const context = { attempt: claim.attempt, signal: controller.signal, replay: claim.replay, ...extras }
      const result: unknown = registration.handler(event, context)
      // Asked for its result once: some only begin to work then, and would do it again.
      if (result !== undefined && isPromiseLike(result))
        return waitAndGoOn(attempt, place, registration, Promise.resolve(result))
      done.push(registration)
    } catch (error) {
      if (hasThrown(attempt, error) === 'lost') return lost(attempt)
    }
    attempt.stamps?.push(state.clock.now())
  }
  return conclude(attempt)
}

async function waitAndGoOn(
  attempt: Attempt,
  place: number,
  registration: Registration,
  result: Promise<unknown>,
): Promise<Settlement | undefined> {
  let hung = false
  if (attempt.state.shared) watchLeases(attempt.state)
  try {
    hung = await waitFor(attempt, result)
    attempt.done.push(registration)
  } catch (error) {
    if (hasThrown(attempt, error) === 'lost') return lost(attempt)
  }
  attempt.stamps?.push(attempt.state.clock.now())
  return hung ? conclude(attempt) : callFrom(attempt, place + 1)
}

/** Resolves to whether the handler ran past its time: then it gives up its slot, and its message waits for it. */
async function waitFor(attempt: Attempt, result: Promise<unknown>): Promise<boolean> {
  const { state, work } = attempt
  const { clock, handlerTimeoutMs, report } = state
  const first = await withDeadline<unknown>(clock, handlerTimeoutMs, result, () => TIMED_OUT)
  if (first !== TIMED_OUT) return false
  if (!isLeaseLost(state, work)) {
    const detail = `It ran past ${handlerTimeoutMs} ms.`
    const error = new HandlerError('handler_timeout', named(attempt), work.claim.attempt, detail)
    work.controller.abort(error)
    report(error)
    const tookMs = clock.now() - work.begunAtMs
    tell(attempt, 'timed out')
    state.meter?.attempted(attempt.type, 'timed_out', tookMs)
    learnPace(state, tookMs)
    giveUp(state, work)
    wake(state)
  }
  await result
  return true
}

function hasThrown(attempt: Attempt, error: unknown): 'lost' | 'failed' {
  const { state, work, thrown } = attempt
  // Thrown for the signal, or for the time that was lost.
  if (isLeaseLost(state, work)) return 'lost'
  const later = asRetryLater(error)
  if (later !== undefined) {
    attempt.putOffMs = Math.max(later.delayMs, attempt.putOffMs ?? 0)
    return 'failed'
  }
  thrown.push(error)
  state.report(new HandlerError('handler_failed', named(attempt), work.claim.attempt, undefined, { cause: error }))
  return 'failed'
}

/** One that hung has been told of. */
function tell(attempt: Attempt, outcome: AttemptOutcome): void {
  const { state, work } = attempt
  if (state.watch === undefined || (work.isHung && outcome !== 'lost')) return
  state.watch.attempted(attempt, outcome, state.clock.now())
}

function lost(attempt: Attempt): Settlement | undefined {
  tell(attempt, 'lost')
  return undefined
}

function conclude(attempt: Attempt): Settlement | undefined {
  const { state, work, event, type, registrations, done, thrown, putOffMs } = attempt
  const { id, messageKey, token } = work.claim
  const isDone = registrations.every((registration) => done.includes(registration))
  // What is done is done: unless somebody was told to stop, the store may still take it.
  if (isDone ? work.isLost : isLeaseLost(state, work)) return lost(attempt)
  if (putOffMs !== undefined && thrown.length === 0) {
    if (work.extras === undefined) state.succeeded.set(id, done)
    return { id, messageKey, token, outcome: 'unbegun', dueMs: state.clock.now() + putOffMs }
  }
  if (state.watch !== undefined) tell(attempt, isDone ? 'succeeded' : 'failed')
  if (handedOverChannel.hasSubscribers) state.handedOver(event, isDone)
  // One that hung has been told of.
  if (state.meter !== undefined && !work.isHung)
    state.meter.attempted(type, isDone ? 'succeeded' : 'failed', state.clock.now() - work.begunAtMs)
  if (isDone) {
    state.succeeded.delete(id)
    return { id, messageKey, token, outcome: 'done' }
  }
  // What they did through the store goes with the attempt that failed, so all of them run again.
  if (work.extras === undefined) state.succeeded.set(id, done)
  if (thrown.length > 0) return failed(state, work.claim, named(attempt), thrown[0])
  return { id, messageKey, token, outcome: 'retry', dueMs: state.clock.now(), error: '' }
}

/** To be tried again, or given up. */
function failed(state: DispatchState, claim: Claim, event: NamedEvent, cause: unknown): Settlement {
  const { retry, clock, report } = state
  const { id, messageKey, token, attempt } = claim
  const error = failureText(cause, state.secrets())
  if (attempt >= retry.attempts) {
    state.succeeded.delete(id)
    report(new HandlerError('dead_letter', event, attempt, undefined, { cause }))
    return { id, messageKey, token, outcome: 'dead', error }
  }
  return { id, messageKey, token, outcome: 'retry', dueMs: clock.now() + retryDelayMs(attempt, retry), error }
}

/** How to settle one whose handlers succeeded, but what they did through the store was undone. */
export function undone(state: DispatchState, claim: Claim, { cause }: MessagingWebhooksError): Settlement {
  const event = nameOf(claim)
  state.report(new HandlerError('transaction_failed', event, claim.attempt, undefined, { cause }))
  return failed(state, claim, event, cause)
}

function named({ work, type }: Attempt): NamedEvent {
  return { ...nameOf(work.claim), type }
}

/** What a claim is called before it is read, or where it cannot be. */
export function nameOf({ id, record: { report, kind } }: Claim): NamedEvent {
  return { id, type: report?.type ?? kind ?? 'unrecognized', messageId: report?.messageId }
}

/**
 * Looks whether its lease has run out or was lost while its handlers ran: the process stood still, or something blocked its
 * event loop. By then another process may run them, so ours are told to stop, once.
 */
export function isLeaseLost(state: DispatchState, work: Work): boolean {
  if (work.isLost || !work.isRunning) return work.isLost
  if (!state.shared || state.over) return false
  const { store } = work.from
  if (state.clock.now() < work.leaseUntilMs && store.isHeld?.(work.claim.messageKey) !== false) return false
  loseLease(state, work)
  return true
}

function loseLease(state: DispatchState, work: Work): void {
  work.isLost = true
  const error = new HandlerError('lease_lost', nameOf(work.claim), work.claim.attempt)
  work.controller.abort(error)
  state.report(error)
  giveUp(state, work)
  wake(state)
}

/** The store says that what was leased of these messages may be somebody else's. What is to be settled it decides itself. */
export function loseLeases(state: DispatchState, isAmong: (messageKey: string) => boolean): void {
  for (const work of allInHand(state)) {
    if (work.isLost || !isAmong(work.claim.messageKey)) continue
    if (work.isRunning) loseLease(state, work)
    else if (!work.isBegun) work.isLost = true
  }
}

/** After a standstill this timer is due before most of those that handlers have set. */
const BEAT_MS = 250

/** Looks after the leases under which handlers are waited for, as long as any are: no timer fires while a plain function runs. */
function watchLeases(state: DispatchState): void {
  if (state.isWatchingLeases) return
  state.isWatchingLeases = true
  state.clock.setTimer(() => {
    state.isWatchingLeases = false
    const running = allInHand(state).filter(({ isRunning }) => isRunning)
    for (const work of running) isLeaseLost(state, work)
    if (running.length > 0 && !state.over) watchLeases(state)
  }, BEAT_MS)
}
