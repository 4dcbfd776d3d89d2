/** Runs an event that has its slot: calls the handlers, settles the event, and releases the slot. Stops the dispatch. */
import { asOurs, HandlerError, MessagingWebhooksError } from '../public/errors.ts'
import type { OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'
import { makeAttempt, undone } from './attempt.ts'
import type { Parts } from './parts.ts'
import { revive } from './revive.ts'
import { nameOf, type Work, type Phase } from './work.ts'
import { withDeadline } from '../runtime/clock.ts'

/** Synchronous as long as neither a handler nor the store returns a promise. */
export function begin(parts: Parts, work: Work): void {
  const nowMs = parts.clock.now()
  const { store } = work.from
  const isHeld = store.isHeld === undefined || store.isHeld(work.claim.messageKey) === true
  if (work.isForgotten || work.isLost || nowMs + parts.handlers.longestMs > work.leaseUntilMs || !isHeld) {
    // Handlers became slow suddenly, or the process was suspended: the lease could expire while they run. Release the event,
    // and let it be leased again.
    parts.slots.leave(work)
    void releaseLease(parts, work)
    return
  }
  work.isStarted = true
  work.begunAtMs = nowMs
  try {
    work.extras = store.contextFor?.(work.claim)
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
async function releaseLease(parts: Parts, work: Work): Promise<void> {
  const { claim, from, leaseUntilMs } = work
  const { id, messageKey, token } = claim
  try {
    await from.settle({ id, messageKey, token, outcome: 'release', dueMs: parts.clock.now() })
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
    await work.from.settle(againOf(parts, work))
  } catch {
    // The store is unavailable and the receiver is closing. The lease will expire.
  }
}

/** Handles a failure of `contextFor` or `revive`: the lease expires, and the event runs again. */
function failed(parts: Parts, work: Work, error: unknown): void {
  if (!parts.phase.isStopped) parts.report(asOurs(error, 'store_failed'))
  finish(parts, work, false)
}

/** The settlement that makes the event due again at once. */
function againOf({ clock }: Parts, { claim: { id, messageKey, token } }: Work): Settlement {
  return { id, messageKey, token, outcome: 'retry', dueMs: clock.now(), error: '' }
}

/** Stops tracking the event, and claims again if something may be due. */
function finish(parts: Parts, work: Work, isDone: boolean): void {
  const { slots, loop } = parts
  const { store } = work.from
  slots.untrack(work)
  if (!isDone || work.hasSuccessor || !isCaughtUp(parts, store)) loop.wake()
  else if (store.notifiesRemaining !== true) loop.deferClaim()
}

/**
 * Whether nothing is likely to be due now. Events leased at their admission rarely leave anything behind: the last claim found
 * nothing, and no event admitted here is in a reorder wait.
 */
function isCaughtUp({ loop: { foundNothing, gapUntilMs }, clock }: Parts, store: OpenStore<object>): boolean {
  return store.admitAndClaim !== undefined && foundNothing && (gapUntilMs === -Infinity || clock.now() >= gapUntilMs)
}

/** Settles the attempt. `made` is undefined if the lease was lost meanwhile. */
function conclude(parts: Parts, work: Work, made: Settlement | undefined): void {
  const { slots, waiting, settlements, phase, clock, loop } = parts
  const { extras, from } = work
  work.isRunning = false
  // Release the resources that the store gave to the handlers. If no other process has the event, this also makes it due
  // before the lease expires.
  const isGivenBack = made === undefined && (extras !== undefined || from.store.isHeld !== undefined)
  const settlement = isGivenBack ? againOf(parts, work) : made
  if (settlement === undefined) {
    finish(parts, work, false)
    return
  }
  if (!isGivenBack) slots.learnPace(clock.now() - work.begunAtMs)
  // Defer the settlement if nothing waits for it: no answer, no later event of the message, no drain and no close.
  const isAwaited = work.hasSuccessor || waiting.isAnyone || settlements.isHurried || phase.isStopped
  const isDeferrable = !isGivenBack && extras === undefined && !isAwaited && isCaughtUp(parts, from.store)
  const { found } = parts.availability
  try {
    const answer = isDeferrable ? from.settleDeferrable(settlement) : from.settle(settlement)
    if (typeof answer === 'boolean') {
      settled(parts, work, settlement, answer, found)
      return
    }
    Promise.resolve(answer)
      .then((held) =>
        typeof held === 'boolean' ? settled(parts, work, settlement, held, found) : settleUndone(parts, work, held),
      )
      .catch((error: unknown) => settleLater(parts, work, settlement, error))
  } catch (error) {
    void settleLater(parts, work, settlement, error)
  }
  // Let other events run meanwhile. If the store gave the handlers a resource, such as a pooled connection, it stays in use
  // until they are settled.
  if (extras === undefined && work.hasSlot) slots.leave(work)
  loop.wakeIfFull()
}

/** Settles the attempt again, as failed: its transaction was rolled back. */
async function settleUndone(parts: Parts, work: Work, { failed: cause }: SettleFailed): Promise<void> {
  const settlement = undone(parts, work.claim, cause)
  const { found } = parts.availability
  try {
    const held = await work.from.settle(settlement)
    if (typeof held === 'boolean') settled(parts, work, settlement, held, found)
    else finish(parts, work, false)
  } catch (error) {
    await settleLater(parts, work, settlement, error)
  }
}

/** Retries a settlement that the store did not confirm in time. */
async function settleLater(parts: Parts, work: Work, settlement: Settlement, error: unknown): Promise<void> {
  await parts.settlements.settleLater(work, settlement, error)
  finish(parts, work, false)
}

function settled(parts: Parts, work: Work, { outcome }: Settlement, held: boolean, foundBefore: number): void {
  const { observers, clock, availability } = parts
  const { claim, isLost, isForgotten } = work
  if (availability.foundBy.size > 0) availability.endAnswered('dispatch', foundBefore)
  if (!held && !isLost && !isForgotten) parts.report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
  if (observers.meter !== undefined && held && (outcome === 'done' || outcome === 'dead'))
    observers.meter.settled(outcome, clock.now() - claim.record.receivedAtMs)
  finish(parts, work, held && outcome === 'done')
}

/** How long a closing receiver waits, after its deadline, for the store to release leases. */
const GIVE_BACK_MS = 500

/** Stops the dispatch: waits for running handlers, aborts them at the deadline, and releases all leases. */
export async function stop(
  parts: Parts,
  phase: { -readonly [K in keyof Phase]: Phase[K] },
  deadlineMs: number,
): Promise<void> {
  const { clock, slots, loop, waiting, settlements } = parts
  phase.isStopped = true
  loop.stop()
  settlements.writeHeld()
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
