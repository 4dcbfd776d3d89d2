/** What becomes of an event that has its slot: its handlers run, it is settled, and there is room again. */
import { asOurs, HandlerError } from '../errors.ts'
import type { Awaitable, OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'
import { makeAttempt, nameOf, undone, watchLeases } from './attempt.ts'
import { learnPace, leaveSlot, letGo } from './capacity.ts'
import { wake, wakeBy, wakeLater } from './claim-loop.ts'
import { revive } from './revive.ts'
import { settleLater } from './settle.ts'
import type { DispatchState, Work } from './state.ts'

/** Without a promise as long as neither a handler nor the store gives one: then an event is done with as it is begun. */
export function begin(state: DispatchState, work: Work): void {
  const nowMs = state.clock.now()
  if (nowMs + state.handlers.longestMs > work.leaseUntilMs) {
    // Handlers have become slow all at once: another process could take it while they run. It comes again under a new lease.
    void giveBack(state, work)
    return
  }
  state.slotsUsed += 1
  work.hasSlot = true
  work.isBegun = true
  work.begunAtMs = nowMs
  try {
    work.extras = work.from.store.contextFor?.(work.claim)
    work.isRunning = true
    if (state.shared) watchLeases(state)
    const event = revive(work.claim, state.reviving, work.payload)
    const made =
      event instanceof Promise
        ? event.then((revived) => makeAttempt(state, work, revived))
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

/** Of `contextFor`. The lease runs out, and the event comes again. */
function failed(state: DispatchState, work: Work, error: unknown): void {
  if (!state.stopped) state.report(asOurs(error, 'store_failed'))
  finish(state, work, false)
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
  } else if (extras !== undefined) {
    // Only so that the store takes back what it gave.
    const { id, messageKey, token } = claim
    const retry: Settlement = { id, messageKey, token, outcome: 'retry', dueMs: state.clock.now(), error: '' }
    isDone = settle(state, work, retry, false)
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
  try {
    const answer = lazily ? from.settleLazily(settlement) : from.settle(settlement)
    if (typeof answer !== 'boolean') return settleInTime(state, work, settlement, answer)
    return settled(state, work, settlement, answer)
  } catch (error) {
    return settleLater(state, work, settlement, error)
  }
}

async function settleInTime(
  state: DispatchState,
  work: Work,
  made: Settlement,
  answer: Awaitable<boolean | SettleFailed>,
): Promise<boolean> {
  let settlement = made
  try {
    let held = await answer
    if (typeof held !== 'boolean') {
      settlement = undone(state, work.claim, held.failed)
      held = await work.from.settle(settlement)
    }
    return settled(state, work, settlement, held)
  } catch (error) {
    return settleLater(state, work, settlement, error)
  }
}

function settled(
  { absence, report }: DispatchState,
  { claim, isLost }: Work,
  { outcome }: Settlement,
  held: boolean | SettleFailed,
): boolean {
  if (absence.foundBy.size > 0) absence.end('dispatch')
  if (held === false && !isLost) report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
  return held === true && outcome === 'done'
}

function finish(state: DispatchState, work: Work, isDone: boolean): void {
  letGo(state, work)
  if (isDone && !work.isFollowed && isUpToDate(state, work.from.store)) wakeLater(state)
  else wake(state)
}
