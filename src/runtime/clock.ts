/** The only module that reads the time or sets a timer, so that tests advance a clock instead of sleeping. */

/** A source of time, for the option `clock`. */
export interface Clock {
  /** Whole milliseconds since 1970. */
  now(): number
  /**
   * Runs `callback` once after `delayMs`, and returns a function that cancels it. The timer does not keep the process alive
   * unless `keepAlive` is set.
   */
  setTimer(callback: () => void, delayMs: number, keepAlive?: boolean): () => void
  /** Runs `callback` after pending I/O, before any timer. */
  soon(callback: () => void): void
}

/** Node fires a longer timer immediately (measured). Timers are limited to this delay, and the caller checks again. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The machine's clock and timers. `now` can be replaced. */
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

/** The clock of an option: a clock, or only its time, which may have fractions that stores cannot keep. */
export function clockOf(given: Clock | (() => number) | undefined): Clock {
  if (given === undefined || typeof given === 'object') return given ?? systemClock()
  return systemClock(() => Math.floor(given()))
}

/** A wall clock that falls behind by more than this was set back. Smaller steps are timer jitter and clock corrections. */
const SET_BACK_MS = 1_000

/** A clock that does not go back when the wall clock is set back, so that waiting ends in time. */
export interface SteadyClock extends Clock {
  /** How far the steady clock is ahead of the wall clock. */
  readonly aheadMs: number
}

/** Stored times use this clock. Displayed times, and times compared with other systems, use the wall clock. */
export function steadyClock(wall: Clock): SteadyClock {
  let aheadMs = 0
  let lastMs = -Infinity

  function now(): number {
    const wallMs = wall.now() + aheadMs
    if (lastMs - wallMs > SET_BACK_MS) aheadMs += lastMs - wallMs
    else lastMs = wallMs
    return lastMs
  }

  return {
    get aheadMs() {
      return aheadMs
    },
    now,
    setTimer(callback, delayMs, keepAlive) {
      // Use the last reading, because a caller that sets a timer has just read the clock.
      const untilMs = lastMs + Math.min(delayMs, LONGEST_TIMER_MS)
      function fire(): void {
        // The timer proves that the delay has passed, whatever the wall clock says.
        lastMs = Math.max(lastMs, untilMs)
        now()
        callback()
      }
      return wall.setTimer(fire, delayMs, keepAlive)
    },
    soon: wall.soon.bind(wall),
  }
}

/** Measures durations, also below a millisecond. It starts anywhere, and nothing sets it, so fake clocks do not move it. */
export function monotonicMs(): number {
  return performance.now()
}

/** Smaller differences may be corrections of the wall clock. */
const SLEPT_MS = 1_000

/**
 * A monotonic clock that continues while the machine sleeps. Node's may stop, so this adds the time by which the wall clock
 * advanced further. A wall clock that is set forward only causes an extra check.
 */
export function elapsedMs(): () => number {
  let wallMs = Date.now()
  let ownMs = performance.now()
  let sleptMs = 0
  return () => {
    const wallStepMs = Date.now() - wallMs
    const ownStepMs = performance.now() - ownMs
    wallMs += wallStepMs
    ownMs += ownStepMs
    if (wallStepMs - ownStepMs > SLEPT_MS) sleptMs += wallStepMs - ownStepMs
    return ownMs + sleptMs
  }
}

/** Settles like `work`, or like `onTimeout()` after `timeoutMs`. A timeout does not stop the work. */
export function withDeadline<T>(
  clock: Pick<Clock, 'setTimer'>,
  timeoutMs: number,
  work: PromiseLike<T>,
  onTimeout: () => T,
  keepAlive = false,
): Promise<T> {
  // Subscribe once: some thenables start their work on each `then`.
  const settled = Promise.resolve(work)
  return new Promise((resolve) => {
    const cancel = clock.setTimer(() => resolve(Promise.resolve().then(onTimeout)), timeoutMs, keepAlive)
    settled.then(
      (value) => {
        cancel()
        resolve(value)
      },
      () => {
        cancel()
        resolve(settled)
      },
    )
  })
}

/** Resolves after pending I/O. */
export function nextTurn(clock: Pick<Clock, 'soon'>): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve))
}

/** Resolves after `delayMs`, or immediately on abort. Keeps the process alive. */
export function pause(clock: Pick<Clock, 'setTimer'>, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function end(): void {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(end, delayMs, true)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
  })
}

export interface RetryPolicy {
  readonly attempts: number
  readonly initialDelayMs: number
  readonly maxDelayMs: number
}

/**
 * The delay after the failure of attempt number `attempt` (from 1): exponential back-off with full jitter, so that failures do
 * not retry in step. Stored, so that it outlives a restart.
 */
export function retryDelayMs(attempt: number, policy: RetryPolicy, random: () => number = Math.random): number {
  const ceiling = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1))
  return Math.round(random() * ceiling)
}
