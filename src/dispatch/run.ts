/** What becomes of an event that has its slot: its handlers run, it is settled, and there is room again. */
import { asOurs, HandlerError } from '../public/errors.ts'
import type { OpenStore, SettleFailed, Settlement } from '../inbox/store.ts'
import { makeAttempt, undone } from './attempt.ts'
import type { Parts } from './parts.ts'
import { revive } from './revive.ts'
import { nameOf, type Work } from './work.ts'

/** Without a promise as long as neither a handler nor the store gives one: then an event is done with as it is begun. */
export function begin(parts: Parts, work: Work): void {
  const nowMs = parts.clock.now()
  const { store } = work.from
  const isHeld = store.isHeld === undefined || store.isHeld(work.claim.messageKey) === true
  if (work.isForgotten || work.isLost || nowMs + parts.handlers.longestMs > work.leaseUntilMs || !isHeld) {
    // Handlers have become slow all at once, or the process stood still: another could take it while they run. It comes again
    // under a new lease.
    parts.slots.leave(work)
    void giveBack(parts, work)
    return
  }
  work.isBegun = true
  work.begunAtMs = nowMs
  try {
    work.extras = store.contextFor?.(work.claim)
    work.isRunning = true
    const event = revive(work.claim, parts.reviving, work.payload)
    const made =
      event instanceof Promise
        ? // A schema may have taken its time.
          event.then((revived) => (parts.leases.isLost(work) ? undefined : makeAttempt(parts, work, revived)))
        : makeAttempt(parts, work, event)
    if (made instanceof Promise)
      made.then((settlement) => conclude(parts, work, settlement)).catch((error: unknown) => failed(parts, work, error))
    else conclude(parts, work, made)
  } catch (error) {
    failed(parts, work, error)
  }
}

/** Of what still waits for a slot no handler is begun here: somebody else may have it. Never rejects. */
export async function giveBack(parts: Parts, work: Work): Promise<void> {
  const { claim, from, leaseUntilMs } = work
  const { id, messageKey, token } = claim
  try {
    await from.settle({ id, messageKey, token, outcome: 'unbegun', dueMs: parts.clock.now() })
    parts.slots.untrack(work)
    parts.loop.wake()
  } catch (error) {
    if (!parts.phase.isStopped) parts.absence.begin('dispatch', asOurs(error, 'store_failed'))
    parts.slots.untrack(work)
    parts.loop.scheduleClaim(leaseUntilMs)
  }
}

/** Its handlers have not ended in time, and nobody here waits for them: another process need not wait for the lease. */
export async function leaveToOthers(parts: Parts, work: Work): Promise<void> {
  try {
    await work.from.settle(againOf(parts, work))
  } catch {
    // The store is away, and the receiver closes: the lease runs out.
  }
}

/** Of `contextFor`. The lease runs out, and the event comes again. */
function failed(parts: Parts, work: Work, error: unknown): void {
  if (!parts.phase.isStopped) parts.report(asOurs(error, 'store_failed'))
  finish(parts, work, false)
}

/** It is to be tried again at once. */
function againOf({ clock }: Parts, { claim: { id, messageKey, token } }: Work): Settlement {
  return { id, messageKey, token, outcome: 'retry', dueMs: clock.now(), error: '' }
}

/** Nothing more is to be told of it. */
function finish(parts: Parts, work: Work, isDone: boolean): void {
  const { slots, loop } = parts
  const { store } = work.from
  slots.untrack(work)
  if (!isDone || work.hasSuccessor || !isCaughtUp(parts, store)) loop.wake()
  else if (store.tellsOfRest !== true) loop.deferClaim()
}

/**
 * Where events are leased as they are admitted, an attempt rarely leaves anything behind that is due now: the last claim found
 * nothing, and nothing that was admitted here waits for a step of its message.
 */
function isCaughtUp({ loop: { foundNothing, gapUntilMs }, clock }: Parts, store: OpenStore<object>): boolean {
  return store.admitAndClaim !== undefined && foundNothing && (gapUntilMs === -Infinity || clock.now() >= gapUntilMs)
}

/** Tells the store, and is done with the event when it has answered. `made`: undefined where the lease was lost meanwhile. */
function conclude(parts: Parts, work: Work, made: Settlement | undefined): void {
  const { slots, waiting, settlements, phase, clock, loop } = parts
  const { extras, from } = work
  work.isRunning = false
  // The store takes back what it gave; and where nobody has taken the event meanwhile, it need not wait for its lease to end.
  const isGivenBack = made === undefined && (extras !== undefined || from.store.isHeld !== undefined)
  const settlement = isGivenBack ? againOf(parts, work) : made
  if (settlement === undefined) {
    finish(parts, work, false)
    return
  }
  if (!isGivenBack) slots.learnPace(clock.now() - work.begunAtMs)
  // No answer waits for it to be settled, no other event, and nobody who drains or closes.
  const isAwaited = work.hasSuccessor || waiting.isAnyone || settlements.isHurried || phase.isStopped
  const isLazy = !isGivenBack && extras === undefined && !isAwaited && isCaughtUp(parts, from.store)
  const { found } = parts.absence
  try {
    const answer = isLazy ? from.settleLazily(settlement) : from.settle(settlement)
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
  // Meanwhile others run; but what the store gave to the handlers, a connection of a pool perhaps, is in use until they are settled.
  if (extras === undefined && work.hasSlot) slots.leave(work)
  loop.wakeIfFull()
}

/** Anew, as one whose handler failed. */
async function settleUndone(parts: Parts, work: Work, { failed: cause }: SettleFailed): Promise<void> {
  const settlement = undone(parts, work.claim, cause)
  const { found } = parts.absence
  try {
    const held = await work.from.settle(settlement)
    if (typeof held === 'boolean') settled(parts, work, settlement, held, found)
    else finish(parts, work, false)
  } catch (error) {
    await settleLater(parts, work, settlement, error)
  }
}

/** Nobody knows that it was settled in time. */
async function settleLater(parts: Parts, work: Work, settlement: Settlement, error: unknown): Promise<void> {
  await parts.settlements.settleLater(work, settlement, error)
  finish(parts, work, false)
}

function settled(parts: Parts, work: Work, { outcome }: Settlement, held: boolean, foundBefore: number): void {
  const { observers, clock, absence } = parts
  const { claim, isLost, isForgotten } = work
  if (absence.foundBy.size > 0) absence.endAnswered('dispatch', foundBefore)
  if (!held && !isLost && !isForgotten) parts.report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
  if (observers.meter !== undefined && held && (outcome === 'done' || outcome === 'dead'))
    observers.meter.settled(outcome, clock.now() - claim.record.receivedAtMs)
  finish(parts, work, held && outcome === 'done')
}
