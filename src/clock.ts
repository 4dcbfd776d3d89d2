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

/** A wall clock that is this far behind was set back; less is the jitter of timers and of clocks that are kept right. */
const SET_BACK_MS = 1_000

/** A clock that a wall clock set back does not take back with it: what waits for a time of this one waits no longer. */
export interface SteadyClock extends Clock {
  /** How far it is ahead of the wall clock. */
  readonly aheadMs: number
  /** It is at least so late: somebody has seen this time before. */
  reach(atLeastMs: number): void
}

/** Times that are stored are of this clock; those that are shown, or held against somebody else's, are of the wall's. */
export function steadyClock(wall: Clock): SteadyClock {
  let aheadMs = 0
  let lastMs = -Infinity

  function nowOrAfter(atLeastMs: number): number {
    lastMs = wall.now() + aheadMs
    if (atLeastMs - lastMs > SET_BACK_MS) {
      aheadMs += atLeastMs - lastMs
      lastMs = atLeastMs
    }
    return lastMs
  }

  return {
    get aheadMs() {
      return aheadMs
    },
    reach: (atLeastMs) => void nowOrAfter(atLeastMs),
    now: () => nowOrAfter(lastMs),
    setTimer(callback, delayMs, keepAlive) {
      const untilMs = nowOrAfter(lastMs) + Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS)
      function fire(): void {
        // That it fires proves that the delay is over, whatever the wall says.
        nowOrAfter(Math.max(untilMs, lastMs))
        callback()
      }
      return wall.setTimer(fire, delayMs, keepAlive)
    },
    soon: (callback) => wall.soon(callback),
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
