/** Watches the leases of events in flight. After a lease has expired or was lost, another process may run the event. */
import type { Clock } from '../runtime/clock.ts'
import { HandlerError, type MessagingWebhooksError } from '../public/errors.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { Slots } from './slots.ts'
import { nameOf, type Phase, type Work } from './work.ts'

export type Leases = ReturnType<typeof createLeases>

interface LeasesOptions {
  readonly clock: Clock
  /** Whether other processes may share the store. Without them, no lease is lost. */
  readonly shared: boolean
  readonly report: (error: MessagingWebhooksError) => void
  readonly slots: Slots
  readonly loop: ClaimLoop
  readonly phase: Phase
}

/** Short, so that after a suspension this timer fires before most timers of handlers. */
const BEAT_MS = 250

export function createLeases({ clock, shared, report, slots, loop, phase }: LeasesOptions) {
  let isWatching = false

  /**
   * Whether the lease expired or was lost while the handlers ran, for example because the process was suspended or its event
   * loop blocked. Another process may run the event by then, so this one aborts its handlers, once.
   */
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

  /** Starts checking, because a handler is pending. Timers do not fire while a synchronous function runs. */
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
    /**
     * The store reports that leases of these messages may belong to another process. The store itself still decides on each
     * settlement.
     */
    lose(isAmong: (messageKey: string) => boolean): void {
      for (const work of slots.all()) {
        if (work.isLost || !isAmong(work.claim.messageKey)) continue
        if (work.isRunning) stop(work)
        else if (!work.isStarted) work.isLost = true
      }
    },
    watch,
  }
}
