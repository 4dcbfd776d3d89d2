/** What becomes of an event in our hands: it waits for a slot, its handlers run, it is settled, and there is room again. */
import { HandlerError } from '../errors.ts'
import { asStoreError } from '../inbox/store-error.ts'
import {
  PAYLOAD,
  type Awaitable,
  type Claim,
  type NewEvent,
  type OpenStore,
  type SettleFailed,
  type Settlement,
} from '../inbox/store.ts'
import { createAttempts, nameOf, type AttemptOptions } from './attempt.ts'
import type { Backlog, ClaimLoop } from './claim-loop.ts'
import type { Lease, LeaseWatch } from './lease.ts'
import type { Leased, Work, Capacity, Semaphore, Run } from './capacity.ts'
import type { Life, StoreAway } from './settle.ts'
import type { NextAttempt } from './drain.ts'

interface RunOptions extends AttemptOptions {
  readonly life: Readonly<Life>
  readonly lease: Lease
  readonly watch: LeaseWatch
  readonly leased: Leased
  readonly semaphore: Semaphore
  readonly capacity: Capacity
  readonly backlog: Backlog
  readonly loop: ClaimLoop
  readonly nextAttempt: NextAttempt
  readonly storeAway: StoreAway
}

interface Runs {
  readonly run: Run
  /** Of what still waits for a slot no handler is begun here: somebody else may have it. Never rejects. */
  giveBack(work: Work): Promise<void>
}

const NONE: readonly NewEvent[] = []

/** Without a promise as long as neither a handler nor the store gives one: then an event is done with as it is begun. */
export function createRun(options: RunOptions): Runs {
  const { clock, life, lease, watch, leased, semaphore, capacity, backlog, loop, nextAttempt, storeAway, report } =
    options
  const attempts = createAttempts({ ...options, onHung, isLost: watch.isLost })

  function end(work: Work): void {
    leased.end(work)
    nextAttempt.over(work.claim.id)
  }

  function begin(work: Work): void {
    if (lease.isLongEnough(work.leaseUntilMs)) run(work)
    // Handlers have become slow all at once: another process could take it while they run. It comes again under a new lease.
    else void giveBack(work)
  }

  async function giveBack(work: Work): Promise<void> {
    const { claim, from, leaseUntilMs } = work
    const { id, messageKey, token } = claim
    try {
      await from.settle({ id, messageKey, token, outcome: 'unbegun', dueMs: clock.now() })
      end(work)
      loop.wake()
    } catch (error) {
      if (!life.stopped) storeAway.failed(error)
      end(work)
      loop.wakeBy(leaseUntilMs)
    }
  }

  /** Its handlers may run on, but nobody waits for them. */
  function giveUp(work: Work): void {
    semaphore.leave(work)
    leased.hang(work)
    nextAttempt.over(work.claim.id)
    loop.wake()
  }

  function onHung(work: Work): void {
    capacity.took(clock.now() - work.begunAtMs)
    giveUp(work)
  }

  function run(work: Work): void {
    semaphore.take(work)
    work.isBegun = true
    work.begunAtMs = clock.now()
    try {
      work.extras = work.from.store.contextFor?.(work.claim)
      watch.begin(work, giveUp)
      const made = attempts.make(work)
      if (made instanceof Promise) made.then((settlement) => conclude(work, settlement)).catch(failed(work))
      else conclude(work, made)
    } catch (error) {
      failed(work)(error)
    }
  }

  /** Of `contextFor`. The lease runs out, and the event comes again. */
  function failed(work: Work): (error: unknown) => void {
    return (error) => {
      if (!life.stopped) report(asStoreError(error))
      finish(work, false)
    }
  }

  function conclude(work: Work, settlement: Settlement | undefined): void {
    const { claim, extras, from } = work
    watch.end(work)
    let isDone: Awaitable<boolean> = false
    if (settlement !== undefined) {
      capacity.took(clock.now() - work.begunAtMs)
      // What the store gave to the handlers, a connection of a pool perhaps, is in use until they are settled.
      if (extras === undefined) semaphore.leave(work)
      if (backlog.mayBe) loop.wake()
      isDone = settle(work, settlement, extras === undefined && isUnhurried(work) ? 'settleLazily' : 'settle')
    } else if (extras !== undefined) {
      // Only so that the store takes back what it gave.
      isDone = settle(work, retryOf(claim, clock.now()), 'settle')
    }
    if (isDone instanceof Promise)
      isDone.then((done) => finish(work, done && isUpToDate(from.store))).catch(failed(work))
    else finish(work, isDone && isUpToDate(from.store))
  }

  function finish(work: Work, mayWait: boolean): void {
    semaphore.leave(work)
    end(work)
    if (mayWait && !work.isFollowed) loop.wakeLater()
    else loop.wake()
  }

  /** Whether it is done with for good; false, too, where the store did not say so in time. */
  function settle(work: Work, settlement: Settlement, how: 'settle' | 'settleLazily'): Awaitable<boolean> {
    try {
      const answer = work.from[how](settlement)
      return typeof answer === 'boolean' ? settled(work, settlement, answer) : settleInTime(work, settlement, answer)
    } catch (error) {
      return settleLater(work, settlement, error)
    }
  }

  async function settleInTime(
    work: Work,
    made: Settlement,
    answer: Awaitable<boolean | SettleFailed>,
  ): Promise<boolean> {
    let settlement = made
    try {
      let held = await answer
      if (typeof held !== 'boolean') {
        settlement = attempts.undone(work.claim, held.failed)
        held = await work.from.settle(settlement)
      }
      return settled(work, settlement, held)
    } catch (error) {
      return settleLater(work, settlement, error)
    }
  }

  function settled({ claim, isLost }: Work, { outcome }: Settlement, held: boolean | SettleFailed): boolean {
    storeAway.answered()
    if (held === false && !isLost) report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
    return held === true && outcome === 'done'
  }

  async function settleLater({ from, leaseUntilMs }: Work, settlement: Settlement, error: unknown): Promise<boolean> {
    if (!life.stopped) storeAway.failed(error)
    await from.settleLater(settlement, leaseUntilMs)
    return false
  }

  /** Nobody waits for it to be settled: no answer, no other event, nobody who closes. */
  function isUnhurried({ claim, from, isFollowed }: Work): boolean {
    const isAwaited = isFollowed || nextAttempt.isAwaited(claim.id) || loop.isHurried
    return !isAwaited && !life.stopped && isUpToDate(from.store)
  }

  /**
   * Where events are leased as they are admitted, an attempt rarely leaves anything behind that is due now, and a look for
   * it may wait for others.
   */
  function isUpToDate({ admitAndClaim }: OpenStore<object>): boolean {
    return admitAndClaim !== undefined && backlog.isNone
  }

  return {
    run(how, claims, from, leaseUntilMs, events = NONE) {
      let next = 0
      for (const claim of claims) {
        // Both are in one order.
        while (next < events.length && events[next]?.id !== claim.id) next += 1
        const work = leased.begin(claim, from, leaseUntilMs, events[next]?.[PAYLOAD])
        semaphore[how](() => begin(work))
      }
    },
    giveBack,
  }
}

function retryOf({ id, messageKey, token }: Claim, dueMs: number): Settlement {
  return { id, messageKey, token, outcome: 'retry', dueMs, error: '' }
}
