/** What becomes of an event that has its slot: its handlers run, it is settled, and there is room again. */
import { asOurs, HandlerError } from '../errors.ts'
import type { Awaitable, OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'
import { isLeaseLost, makeAttempt, nameOf, undone } from './attempt.ts'
import { learnPace, leaveSlot, letGo } from './capacity.ts'
import { wake, wakeBy, wakeLater } from './claim-loop.ts'
import { revive } from './revive.ts'
import { settleLater } from './settle.ts'
import type { DispatchState, Work } from './state.ts'

/** Without a promise as long as neither a handler nor the store gives one: then an event is done with as it is begun. */
export function begin(state: DispatchState, work: Work): void {
  const nowMs = state.clock.now()
  const { store } = work.from
  const isHeld = store.isHeld === undefined || store.isHeld(work.claim.messageKey) === true
  if (work.isForgotten || work.isLost || nowMs + state.handlers.longestMs > work.leaseUntilMs || !isHeld) {
    // Handlers have become slow all at once, or the process stood still: another could take it while they run. It comes again
    // under a new lease.
    void giveBack(state, work)
    return
  }
  state.slotsUsed += 1
  work.hasSlot = true
  work.isBegun = true
  work.begunAtMs = nowMs
  try {
    work.extras = store.contextFor?.(work.claim)
    work.isRunning = true
    const event = revive(work.claim, state.reviving, work.payload)
    const made =
      event instanceof Promise
        ? // A schema may have taken its time.
          event.then((revived) => (isLeaseLost(state, work) ? undefined : makeAttempt(state, work, revived)))
        : makeAttempt(state, work, event)
    if (made instanceof Promise)
      made.then((settlement) => conclude(state, work, settlement)).catch((error: unknown) => failed(state, work, error))
    else conclude(state, work, made)
  } catch (error) {
    failed(state, work, error)
  }
}

/** Of what still waits for a slot no handler is begun here: somebody else may have it. Never rejects. */
export async function giveBack(state: DispatchState, work: Work): Promise<void> {
  const { claim, from, leaseUntilMs } = work
  const { id, messageKey, token } = claim
  try {
    await from.settle({ id, messageKey, token, outcome: 'unbegun', dueMs: state.clock.now() })
    letGo(state, work)
    wake(state)
  } catch (error) {
    if (!state.stopped) state.absence.begin('dispatch', asOurs(error, 'store_failed'))
    letGo(state, work)
    wakeBy(state, leaseUntilMs)
  }
}

/** Its handlers have not ended in time, and nobody here waits for them: another process need not wait for the lease. */
export async function leaveToOthers(state: DispatchState, work: Work): Promise<void> {
  try {
    await work.from.settle(againOf(state, work))
  } catch {
    // The store is away, and the receiver closes: the lease runs out.
  }
}

/** Of `contextFor`. The lease runs out, and the event comes again. */
function failed(state: DispatchState, work: Work, error: unknown): void {
  if (!state.stopped) state.report(asOurs(error, 'store_failed'))
  finish(state, work, false)
}

/** It is to be tried again at once. */
function againOf({ clock }: DispatchState, { claim: { id, messageKey, token } }: Work): Settlement {
  return { id, messageKey, token, outcome: 'retry', dueMs: clock.now(), error: '' }
}

function conclude(state: DispatchState, work: Work, settlement: Settlement | undefined): void {
  const { claim, extras, from } = work
  work.isRunning = false
  let isDone: Awaitable<boolean> = false
  if (settlement !== undefined) {
    learnPace(state, state.clock.now() - work.begunAtMs)
    // What the store gave to the handlers, a connection of a pool perhaps, is in use until they are settled.
    if (extras === undefined && work.hasSlot) leaveSlot(state, work)
    // More may be due.
    if (state.fullClaims > 0) wake(state)
    // No answer waits for it to be settled, no other event, and nobody who drains or closes.
    const isAwaited = work.isFollowed || state.waitingForAttempt.has(claim.id) || state.hurried > 0 || state.stopped
    isDone = settle(state, work, settlement, extras === undefined && !isAwaited && isUpToDate(state, from.store))
  } else if (extras !== undefined || from.store.isHeld !== undefined) {
    // The store takes back what it gave; and where nobody has taken the event meanwhile, it need not wait for its lease to end.
    isDone = settle(state, work, againOf(state, work), false)
  }
  if (isDone instanceof Promise)
    isDone.then((done) => finish(state, work, done)).catch((error: unknown) => failed(state, work, error))
  else finish(state, work, isDone)
}

/**
 * Where events are leased as they are admitted, an attempt rarely leaves anything behind that is due now, and a look for it
 * may wait for others: the last claim found nothing, and nothing that was admitted here waits for a step of its message.
 */
function isUpToDate({ fullClaims, foundLast, gapUntilMs, clock }: DispatchState, store: OpenStore<object>): boolean {
  const hasGap = gapUntilMs !== -Infinity && clock.now() < gapUntilMs
  return store.admitAndClaim !== undefined && fullClaims === 0 && !foundLast && !hasGap
}

/** Whether it is done with for good; false, too, where the store did not say so in time. */
function settle(state: DispatchState, work: Work, settlement: Settlement, lazily: boolean): Awaitable<boolean> {
  const { from } = work
  const { found } = state.absence
  try {
    const answer = lazily ? from.settleLazily(settlement) : from.settle(settlement)
    if (typeof answer === 'boolean') return settled(state, work, settlement, answer, found)
    return Promise.resolve(answer)
      .then((held) =>
        typeof held === 'boolean' ? settled(state, work, settlement, held, found) : settleUndone(state, work, held),
      )
      .catch((error: unknown) => settleLater(state, work, settlement, error))
  } catch (error) {
    return settleLater(state, work, settlement, error)
  }
}

/** Anew, as one whose handler failed. */
async function settleUndone(state: DispatchState, work: Work, { failed: cause }: SettleFailed): Promise<boolean> {
  const settlement = undone(state, work.claim, cause)
  const { found } = state.absence
  try {
    return settled(state, work, settlement, await work.from.settle(settlement), found)
  } catch (error) {
    return settleLater(state, work, settlement, error)
  }
}

function settled(
  { report, meter, clock, absence }: DispatchState,
  { claim, isLost, isForgotten }: Work,
  { outcome }: Settlement,
  held: boolean | SettleFailed,
  foundBefore: number,
): boolean {
  if (absence.foundBy.size > 0) absence.endAnswered('dispatch', foundBefore)
  if (held === false && !isLost && !isForgotten) report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
  if (meter !== undefined && held === true && (outcome === 'done' || outcome === 'dead'))
    meter.settled(outcome, clock.now() - claim.record.receivedAtMs)
  return held === true && outcome === 'done'
}

function finish(state: DispatchState, work: Work, isDone: boolean): void {
  const { store } = work.from
  letGo(state, work)
  if (!isDone || work.isFollowed || !isUpToDate(state, store)) wake(state)
  else if (store.tellsOfRest !== true) wakeLater(state)
}
