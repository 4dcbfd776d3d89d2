/** Looks after the leases of what is in flight: one that expired or was lost may be another process's by now. */
import type { Clock } from '../runtime/clock.ts'
import { HandlerError, type MessagingWebhooksError } from '../public/errors.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { Slots } from './slots.ts'
import { nameOf, type Phase, type Work } from './work.ts'

export interface Leases {
  /**
   * Looks whether its lease has expired or was lost while its handlers ran: the process stood still, or something blocked its event
   * loop. By then another process may run them, so ours are told to stop, once.
   */
  isLost(work: Work): boolean
  /** The store says that what was leased of these messages may be somebody else's. What is to be settled it decides itself. */
  lose(isAmong: (messageKey: string) => boolean): void
  /** A handler is waited for: no timer fires while a plain function runs. */
  watch(): void
}

interface LeasesOptions {
  readonly clock: Clock
  /** Where no other process shares the store, no lease is lost. */
  readonly shared: boolean
  readonly report: (error: MessagingWebhooksError) => void
  readonly slots: Slots
  readonly loop: ClaimLoop
  readonly phase: Phase
}

/** After a standstill this timer is due before most of those that handlers have set. */
const BEAT_MS = 250

export function createLeases({ clock, shared, report, slots, loop, phase }: LeasesOptions): Leases {
  let isWatching = false

  function isLost(work: Work): boolean {
    if (work.isLost || !work.isRunning) return work.isLost
    if (!shared || phase.isOver) return false
    if (clock.now() < work.leaseUntilMs && work.from.store.isHeld?.(work.claim.messageKey) !== false) return false
    stop(work)
    return true
  }

  function stop(work: Work): void {
    work.isLost = true
    const error = new HandlerError('lease_lost', nameOf(work.claim), work.claim.attempt)
    work.controller.abort(error)
    report(error)
    slots.abandon(work)
    loop.wake()
  }

  function watch(): void {
    if (!shared || isWatching) return
    isWatching = true
    clock.setTimer(() => {
      isWatching = false
      const running = slots.all().filter(({ isRunning }) => isRunning)
      for (const work of running) isLost(work)
      if (running.length > 0 && !phase.isOver) watch()
    }, BEAT_MS)
  }

  return {
    isLost,
    lose(isAmong) {
      for (const work of slots.all()) {
        if (work.isLost || !isAmong(work.claim.messageKey)) continue
        if (work.isRunning) stop(work)
        else if (!work.isBegun) work.isLost = true
      }
    },
    watch,
  }
}
