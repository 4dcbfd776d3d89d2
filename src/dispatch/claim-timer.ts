/** When to claim next: when the store says that an event is due, or earlier for something that was announced to this process. */
import type { Clock } from '../runtime/clock.ts'

export function createClaimTimer(clock: Clock, claim: () => void) {
  /** When the timer fires. */
  let firesAtMs = Infinity
  let cancel = (): void => {}
  /** When something announced may be due. A claim that began before the announcement does not know of it. */
  let announcedDueMs = Infinity

  function set(dueMs: number): void {
    cancel()
    firesAtMs = Math.min(dueMs, announcedDueMs)
    cancel = clock.setTimer(() => {
      if (firesAtMs >= announcedDueMs) announcedDueMs = Infinity
      firesAtMs = Infinity
      claim()
    }, firesAtMs - clock.now())
  }

  return {
    /** Claims at this time, instead of the one set before. */
    set,
    /** Claims at this time too, because something may be due then. */
    announce(dueMs: number): void {
      announcedDueMs = Math.min(announcedDueMs, dueMs)
      if (dueMs < firesAtMs) set(dueMs)
    },
    isOverdue: (nowMs: number): boolean => firesAtMs < nowMs,
    stop: (): void => cancel(),
  }
}
