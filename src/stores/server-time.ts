/** The clock of a server, as estimated by this process, so that leases and retries last as intended whatever its own clock says. */
import { monotonicMs } from '../runtime/clock.ts'

/** A write whose decision used a time that differs by more from the clock of the server does not apply. */
export const MAX_APART_MS = 2_000

export interface ServerClock {
  nowMs(): number
  /** Records a time that the server returned to a request sent at `sentMs` (by `monotonicMs`). */
  note(serverMs: number, sentMs: number): void
}

/** Valid after the first response of the server. */
export function createServerClock(): ServerClock {
  let aheadMs = -Infinity
  return {
    nowMs: () => Math.round(monotonicMs() + aheadMs),
    note(serverMs, sentMs) {
      // The server read its clock between sending and now, in whole milliseconds. The request may have waited for a connection
      // or a lock.
      const [leastMs, mostMs] = [serverMs - monotonicMs(), serverMs + 1 - sentMs]
      aheadMs = Math.min(Math.max(aheadMs, leastMs), mostMs)
    },
  }
}

export function isApart(serverMs: number, asOfMs: number): boolean {
  return Math.abs(serverMs - asOfMs) > MAX_APART_MS
}
