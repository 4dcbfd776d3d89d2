/** The only place that asks for the time or sets a timer, so that tests advance a clock instead of sleeping. */
import { letReject } from './values.ts'

/** A source of time. `now()` is in milliseconds since the Unix epoch. */
export interface Clock {
  /** Milliseconds since 1970. */
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
export const LONGEST_TIMER_MS = 2 ** 31 - 1

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

/** Milliseconds that begin a year of more than five digits: nobody means that. */
const LATEST_MS = 1e15

/**
 * A clock of the user's: where it throws or tells no time, time goes on from what it told last, at the pace of the
 * machine's; `failed` hears of it. A timer that it does not set is set on the machine, and fires once, and later.
 */
export function guardClock(clock: Clock, failed: (cause?: unknown) => void): Clock {
  const machine = systemClock()
  /** Of the machine's, as far as this one told. */
  let aheadMs = 0

  function told(): unknown {
    try {
      const given: unknown = clock.now()
      if (typeof given === 'number') return given
      failed()
      letReject(given)
    } catch (error) {
      failed(error)
    }
    return undefined
  }

  return {
    now() {
      const given = told()
      const machineMs = machine.now()
      if (typeof given === 'number' && given >= 0 && given < LATEST_MS) {
        aheadMs = given - machineMs
        // Some tell fractions, or a zero below zero, which stores cannot keep.
        return Math.floor(given) + 0
      }
      if (typeof given === 'number') failed()
      return Math.floor(machineMs + aheadMs)
    },
    setTimer(callback, delayMs, keepAlive) {
      let isSet = false
      let isOver = false
      function fire(): void {
        if (isOver) return
        isOver = true
        if (isSet) callback()
        else machine.soon(callback)
      }
      let cancel: () => void
      try {
        // Most hand it on to Node, which warns of a time that is over.
        cancel = clock.setTimer(fire, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS), keepAlive)
      } catch (error) {
        failed(error)
        cancel = machine.setTimer(fire, delayMs, keepAlive)
      }
      isSet = true
      return () => {
        isOver = true
        try {
          cancel()
        } catch {
          // Perhaps it is no function, or it throws: if the timer fires all the same, nothing comes of it.
        }
      }
    },
    soon(callback) {
      try {
        clock.soon(callback)
      } catch (error) {
        failed(error)
        machine.soon(callback)
      }
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

  function now(): number {
    const wallMs = wall.now() + aheadMs
    if (lastMs - wallMs > SET_BACK_MS) aheadMs += lastMs - wallMs
    else lastMs = wallMs
    return lastMs
  }

  function reach(atLeastMs: number): void {
    lastMs = Math.max(lastMs, atLeastMs)
    now()
  }

  return {
    get aheadMs() {
      return aheadMs
    },
    reach,
    now,
    setTimer(callback, delayMs, keepAlive) {
      // From the time that was told last: whoever sets a timer for a time has just asked.
      const untilMs = lastMs + Math.min(delayMs, LONGEST_TIMER_MS)
      function fire(): void {
        // That it fires proves that the delay is over, whatever the wall says.
        reach(untilMs)
        callback()
      }
      return wall.setTimer(fire, delayMs, keepAlive)
    },
    soon: wall.soon.bind(wall),
  }
}

/** For what is shorter than a millisecond. It begins anywhere, and no test moves it: to measure with, and to decide nothing by. */
export function monotonicMs(): number {
  return performance.now()
}

/** The wall clock may be kept right by less. */
const SLEPT_MS = 1_000

/**
 * A monotonic clock that goes on while the machine sleeps, which Node's may not: where the wall clock has gone on for longer,
 * that counts. A wall clock that was set forward costs a question too many.
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

/** Settles as `work` does, or as `onTimeout()` does once `timeoutMs` have passed. The work itself goes on. */
export function withDeadline<T>(clock: Clock, timeoutMs: number, work: PromiseLike<T>, onTimeout: () => T): Promise<T> {
  // Asked for its result once: some only begin to work then.
  const settled = Promise.resolve(work)
  return new Promise((resolve) => {
    const cancel = clock.setTimer(() => resolve(Promise.resolve().then(onTimeout)), timeoutMs)
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

/** Resolves once `delayMs` have passed, or at once with the signal. Somebody waits for it, so the process stays. */
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
