/** What becomes of an event in our hands: it waits for a slot, its handlers run, it is settled, and there is room again. */
import { HandlerError } from '../errors.ts'
import { asStoreError } from '../inbox/store-error.ts'
import type { Claim, OpenStore, Settlement } from '../inbox/store.ts'
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

export function createRun(options: RunOptions): Runs {
  const { clock, life, lease, watch, leased, semaphore, capacity, backlog, loop, nextAttempt, storeAway, report } =
    options
  const attempts = createAttempts(options)

  function end(work: Work): void {
    leased.end(work)
    nextAttempt.over(work.claim.id)
  }

  function begin(work: Work): void {
    if (lease.isLongEnough(work.leaseUntilMs)) {
      void run(work)
    } else {
      // Handlers have become slow all at once: another process could take it while they run. It comes again under a new lease.
      void giveBack(work)
    }
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

  async function run(work: Work): Promise<void> {
    const { claim, controller, from } = work
    const leave = semaphore.take()
    work.isBegun = true
    const startedAtMs = clock.now()
    /** Its handlers may run on, but nobody waits for them. */
    const giveUp = (): void => {
      leave()
      leased.hang(work)
      nextAttempt.over(claim.id)
      loop.wake()
    }
    const onHung = (): void => {
      capacity.took(clock.now() - startedAtMs)
      giveUp()
    }
    const isLost = (look?: 'look'): boolean => (look === undefined ? work.isLost : watch.isLost(work))
    let isDone = false
    try {
      const extras = from.store.contextFor?.(claim)
      watch.begin(work, giveUp)
      const settlement = await attempts.make({ claim, controller, extras, onHung, isLost })
      watch.end(work)
      if (settlement === undefined) {
        // Only so that the store takes back what it gave.
        if (extras !== undefined) await settle(work, retryOf(claim, clock.now()), 'settle')
        return
      }
      capacity.took(clock.now() - startedAtMs)
      // What the store gave to the handlers, a connection of a pool perhaps, is in use until they are settled.
      if (extras === undefined) leave()
      if (backlog.mayBe) loop.wake()
      isDone = await settle(work, settlement, extras === undefined && isUnhurried(work) ? 'settleLazily' : 'settle')
    } catch (error) {
      // Of `contextFor`. The lease runs out, and the event comes again.
      if (!life.stopped) report(asStoreError(error))
    } finally {
      leave()
      end(work)
      if (isDone && !work.isFollowed && isUpToDate(from.store)) loop.wakeLater()
      else loop.wake()
    }
  }

  /** Whether it is done with for good; false, too, where the store did not say so in time. */
  async function settle(
    { claim, from, leaseUntilMs, isLost }: Work,
    made: Settlement,
    how: 'settle' | 'settleLazily',
  ): Promise<boolean> {
    let settlement = made
    try {
      let settled = from[how](settlement)
      let held = settled instanceof Promise ? await settled : settled
      if (typeof held !== 'boolean') {
        settlement = attempts.undone(claim, held.failed)
        settled = from.settle(settlement)
        held = settled instanceof Promise ? await settled : settled
      }
      storeAway.answered()
      if (held === false && !isLost) report(new HandlerError('lease_lost', nameOf(claim), claim.attempt))
      return held === true && settlement.outcome === 'done'
    } catch (error) {
      if (!life.stopped) storeAway.failed(error)
      await from.settleLater(settlement, leaseUntilMs)
      return false
    }
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
    run(how, claims, from, leaseUntilMs) {
      for (const claim of claims) {
        const work = leased.begin(claim, from, leaseUntilMs)
        semaphore[how](() => begin(work))
      }
    },
    giveBack,
  }
}

function retryOf({ id, messageKey, token }: Claim, dueMs: number): Settlement {
  return { id, messageKey, token, outcome: 'retry', dueMs, error: '' }
}
