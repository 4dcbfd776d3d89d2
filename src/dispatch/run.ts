/** Runs an event that has its slot: calls the handlers, settles the event, and releases the slot. Stops the dispatch. */
import { asOurs, HandlerError, MessagingWebhooksError } from '../public/errors.ts'
import type { HandlerTransaction, SettleFailed } from '../inbox/store.ts'
import type { Settle, Settled } from '../messages/commands.ts'
import { makeAttempt, settlingOf, undone } from './attempt.ts'
import type { Parts } from './parts.ts'
import { revive } from './revive.ts'
import { nameOf, type Work, type Phase } from './work.ts'
import { withDeadline } from '../runtime/clock.ts'

/** Synchronous as long as neither a handler nor the store returns a promise. */
export function begin(parts: Parts, work: Work): void {
  const { store } = work.from
  if (!mayStart(parts, work)) {
    parts.slots.leave(work)
    void releaseLease(parts, work)
    return
  }
  if (store.transactions === undefined) beginHandlers(parts, work)
  else
    store.transactions.begin().then(
      (transaction) => beginWithin(parts, work, transaction),
      (error: unknown) => {
        if (!parts.phase.isStopped) parts.availability.begin('dispatch', asOurs(error, 'store_failed'))
        parts.slots.leave(work)
        void releaseLease(parts, work, AGAIN_MS)
      },
    )
}

/**
 * False for an event to be released, and leased again: handlers became slow suddenly, the process was suspended, or a transaction
 * took long to begin, so that the lease could expire while handlers run.
 */
function mayStart(
  { clock, handlers }: Parts,
  { from: { store }, claim, leaseUntilMs, isForgotten, isLost }: Work,
): boolean {
  const isHeld = store.isHeld === undefined || store.isHeld(claim.messageKey) === true
  const isLong = clock.now() + handlers.longestMs > leaseUntilMs
  return !isForgotten && !isLost && !isLong && isHeld
}

/** Delay of an event whose transaction could not begin, or was lost. */
const AGAIN_MS = 1_000

function beginWithin(parts: Parts, work: Work, transaction: HandlerTransaction<object>): void {
  if (parts.phase.isOver || !mayStart(parts, work)) {
    void transaction.rollBack()
    parts.slots.leave(work)
    void releaseLease(parts, work)
    return
  }
  work.transaction = transaction
  beginHandlers(parts, work)
}

function beginHandlers(parts: Parts, work: Work): void {
  work.isStarted = true
  work.begunAtMs = parts.clock.now()
  try {
    work.isRunning = true
    const event = revive(work.claim, parts.reviving, work.payload)
    const made =
      event instanceof Promise
        ? // The lease may have expired while the schema ran.
          event.then((revived) => (parts.leases.isLost(work) ? undefined : makeAttempt(parts, work, revived)))
        : makeAttempt(parts, work, event)
    if (made instanceof Promise)
      made.then((settlement) => conclude(parts, work, settlement)).catch((error: unknown) => failed(parts, work, error))
    else conclude(parts, work, made)
  } catch (error) {
    failed(parts, work, error)
  }
}

/** Releases the lease of an event that has not started. Never rejects. */
async function releaseLease(parts: Parts, work: Work, inMs = 0): Promise<void> {
  const { claim, from, leaseUntilMs } = work
  try {
    await from.settle({ ...settlingOf(claim), outcome: 'release', inMs })
    parts.slots.untrack(work)
    parts.loop.wake()
  } catch (error) {
    if (!parts.phase.isStopped) parts.availability.begin('dispatch', asOurs(error, 'store_failed'))
    parts.slots.untrack(work)
    parts.loop.scheduleClaim(leaseUntilMs)
  }
}

/** Releases the lease of an event whose handlers did not end in time, so that another process need not wait for its expiry. */
async function makeDueAgain(parts: Parts, work: Work): Promise<void> {
  try {
    await work.transaction?.rollBack()
    await work.from.settle(againOf(work))
  } catch {
    // The store is unavailable and the receiver is closing. The lease will expire.
  }
}

/** Handles a failure of `revive`: the lease expires, and the event runs again. */
function failed(parts: Parts, work: Work, error: unknown): void {
  if (!parts.phase.isStopped) parts.report(asOurs(error, 'store_failed'))
  void work.transaction?.rollBack()
  finish(parts, work, false)
}

/** The settlement that makes the event due again at once. */
function againOf({ claim }: Work): Settle {
  return { ...settlingOf(claim), outcome: 'retry', inMs: 0 }
}

/** Stops tracking the event, and claims again if something may be due. */
function finish(parts: Parts, work: Work, isDone: boolean): void {
  const { slots, loop } = parts
  slots.untrack(work)
  if (!isDone || work.hasSuccessor || !isCaughtUp(parts)) loop.wake()
}

/**
 * Whether nothing is likely to be due now. Events leased at their admission rarely leave anything behind: the last claim found
 * nothing, and no event admitted here is in a reorder wait.
 */
function isCaughtUp({ loop: { foundNothing, gapUntilMs }, clock }: Parts): boolean {
  return foundNothing && (gapUntilMs === -Infinity || clock.now() >= gapUntilMs)
}

/** When the store was asked: durations in its answer count from `atMs`, and `found` is for `endAnswered`. */
interface Asked {
  readonly atMs: number
  readonly found: number
}

function askedNow({ clock, availability }: Parts): Asked {
  return { atMs: clock.now(), found: availability.found }
}

/** Settles the attempt. `made` is undefined if the lease was lost meanwhile. */
function conclude(parts: Parts, work: Work, made: Settle | undefined): void {
  const { slots, waiting, phase, clock, loop } = parts
  const { transaction, from } = work
  work.isRunning = false
  // Release the transaction. If no other process has the event, this also makes it due before the lease expires.
  const isGivenBack = made === undefined && (transaction !== undefined || from.store.isHeld !== undefined)
  const settlement = isGivenBack ? againOf(work) : made
  if (settlement === undefined) {
    finish(parts, work, false)
    return
  }
  if (!isGivenBack) slots.learnPace(clock.now() - work.begunAtMs)
  if (transaction !== undefined) {
    void concludeWithin(parts, work, transaction, settlement)
    return
  }
  // Defer the settlement if nothing waits for it: no answer, no later event of the message, and no close.
  const isAwaited = work.hasSuccessor || waiting.isAnyone || phase.isStopped
  const isDeferrable = !isGivenBack && !isAwaited && isCaughtUp(parts)
  const asked = askedNow(parts)
  try {
    const answer = isDeferrable ? from.settleDeferrable(settlement) : from.settle(settlement)
    if (answer instanceof Promise)
      answer
        .then((answered) => settled(parts, work, settlement, answered, asked))
        .catch((error: unknown) => settleLater(parts, work, settlement, error))
    else {
      settled(parts, work, settlement, answer, asked)
      return
    }
  } catch (error) {
    void settleLater(parts, work, settlement, error)
  }
  // Let other events run meanwhile.
  if (work.hasSlot) slots.leave(work)
  loop.wakeIfFull()
}

/** Ends the transaction of the handlers with the settlement. It keeps its slot until then, like the connection. */
async function concludeWithin(
  parts: Parts,
  work: Work,
  transaction: HandlerTransaction<object>,
  settlement: Settle,
): Promise<void> {
  const asked = askedNow(parts)
  if (settlement.outcome !== 'done') {
    await transaction.rollBack()
    await settleNow(parts, work, settlement, asked)
    return
  }
  let answer: Settled | SettleFailed
  try {
    answer = await transaction.commit(settlement)
  } catch (error) {
    // It is unknown whether the transaction was committed. If it was, this changes nothing; if not, the handlers must run again.
    if (!parts.phase.isStopped) parts.availability.begin('dispatch', asOurs(error, 'store_failed'))
    await settleNow(parts, work, { ...settlingOf(work.claim), outcome: 'retry', inMs: AGAIN_MS }, asked)
    return
  }
  if ('failed' in answer) await settleNow(parts, work, undone(parts, work.claim, answer.failed), asked)
  else settled(parts, work, settlement, answer, asked)
  parts.loop.wakeIfFull()
}

async function settleNow(parts: Parts, work: Work, settlement: Settle, asked: Asked): Promise<void> {
  try {
    settled(parts, work, settlement, await work.from.settle(settlement), asked)
  } catch (error) {
    await settleLater(parts, work, settlement, error)
  }
}

/** Retries a settlement that the store did not confirm in time. */
async function settleLater(parts: Parts, work: Work, settlement: Settle, error: unknown): Promise<void> {
  await parts.settlements.settleLater(work, settlement, error)
  finish(parts, work, false)
}

function settled(parts: Parts, work: Work, { outcome }: Settle, { held, nextInMs }: Settled, asked: Asked): void {
  const { observers, clock, availability, loop } = parts
  const { claim, isLost, isForgotten } = work
  if (availability.foundBy.size > 0) availability.endAnswered('dispatch', asked.found)
  if (!held && !isLost && !isForgotten) parts.report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
  if (observers.meter !== undefined && held && (outcome === 'done' || outcome === 'dead'))
    observers.meter.settled(outcome, clock.now() - claim.record.receivedAtMs)
  if (nextInMs !== undefined && nextInMs > 0) loop.scheduleClaim(asked.atMs + nextInMs)
  finish(parts, work, held && outcome === 'done' && nextInMs !== 0)
}

/** How long a closing receiver waits, after its deadline, for the store to release leases. */
const GIVE_BACK_MS = 500

/** Stops the dispatch: waits for running handlers, aborts them at the deadline, and releases all leases. */
export async function stop(
  parts: Parts,
  phase: { -readonly [K in keyof Phase]: Phase[K] },
  deadlineMs: number,
): Promise<void> {
  const { clock, slots, loop, waiting } = parts
  phase.isStopped = true
  loop.stop()
  // Events that are not in flight will not be attempted here.
  for (const id of waiting.watchedIds()) if (!slots.has(id)) waiting.attempted(id)
  const untilMs = clock.now() + deadlineMs
  // Events that a pending claim or admission returns are leased, so run them.
  while ((slots.running > 0 || loop.isClaiming || slots.isAnyHeld()) && clock.now() < untilMs)
    await waiting.nextChange(untilMs - clock.now())
  phase.isOver = true
  slots.dropQueue()
  const works = slots.all()
  for (const work of works) {
    work.controller.abort(new MessagingWebhooksError('receiver_closed'))
    // A handler that timed out was reported at that moment.
    if (work.isRunning && !work.isHung) reportCutOff(parts, work)
  }
  const backMs = clock.now() + GIVE_BACK_MS
  const left = works
    .filter((work) => !isEnding(work))
    .map((work) => (work.isStarted ? makeDueAgain : releaseLease)(parts, work))
  // If the store does not answer, the leases expire.
  await withDeadline(clock, GIVE_BACK_MS, Promise.all(left), () => [])
  while (works.some(isEnding) && clock.now() < backMs) await waiting.nextChange(backMs - clock.now())
}

function reportCutOff({ clock, report }: Parts, { claim, begunAtMs }: Work): void {
  const detail = `It had run for ${clock.now() - begunAtMs} ms.`
  report(new HandlerError('handler_cut_off', nameOf(claim), claim.attempt, detail))
}

/** The handlers have ended and the settlement is pending. The store must not get a second one. */
function isEnding({ isStarted, isRunning, isOver }: Work): boolean {
  return isStarted && !isRunning && !isOver
}
