/** The only place that asks for the time or sets a timer, so that tests advance a clock instead of sleeping. */

/** A source of time. `now()` is in milliseconds since the Unix epoch. */
export interface Clock {
  now(): number
  /**
   * Runs `callback` once after `delayMs`; returns the function that cancels it. The timer does not keep the process
   * alive unless `keepAlive` is set.
   */
  setTimer(callback: () => void, delayMs: number, keepAlive?: boolean): () => void
  /** Runs `callback` after the I/O that is under way, before any timer. */
  soon(callback: () => void): void
}

/** Node fires a longer timer at once (measured), so longer ones are cut to this and whoever set them looks again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The machine's own clock and timers; `now` may be replaced alone, for a clock that is kept elsewhere. */
export function systemClock(now: () => number = Date.now): Clock {
  return {
    now,
    setTimer(callback, delayMs, keepAlive = false) {
      const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS))
      if (!keepAlive) timer.unref()
      return () => clearTimeout(timer)
    },
    soon(callback) {
      setImmediate(callback)
    },
  }
}

const TIMED_OUT = Symbol('timed out')

/** Settles as `work` does, or as `onTimeout()` does once `timeoutMs` have passed. The work itself goes on. */
export async function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  work: PromiseLike<T>,
  onTimeout: () => T,
): Promise<T> {
  let cancel = (): void => {}
  const deadline = new Promise<typeof TIMED_OUT>((resolve) => {
    cancel = clock.setTimer(() => resolve(TIMED_OUT), timeoutMs)
  })
  try {
    const first = await Promise.race([work, deadline])
    return first === TIMED_OUT ? onTimeout() : first
  } finally {
    cancel()
  }
}
