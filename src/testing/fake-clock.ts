/** A clock for tests, so that they need not wait for reorder waits, retries or expired signatures. */
import { describe } from '../runtime/check-options.ts'
import type { Clock } from '../runtime/clock.ts'
import { OptionsError } from '../public/errors.ts'

/** A `Clock` for `createReceiver({ clock })` that the test advances. */
export interface FakeClock extends Clock {
  /**
   * Advances the time by `ms` milliseconds. Each timer fires at its own time, and the work it starts runs until it waits for
   * I/O, before the next timer fires.
   */
  advance(ms: number): Promise<void>
}

/**
 * A clock that stands still until `advance` is called. Starts at `start` (a Date, or milliseconds since the Unix epoch;
 * default: now). Sockets and disks work as usual, so callbacks can be delivered.
 */
export function fakeClock(start: Date | number = Date.now()): FakeClock {
  let nowMs = typeof start === 'string' ? NaN : Number(start)
  if (!Number.isFinite(nowMs))
    throw new OptionsError(
      `fakeClock: the start is ${describe(start)}; expected a Date, or milliseconds since the Unix epoch.`,
    )
  const timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>()

  function nextDue(untilMs: number) {
    let next: { readonly dueMs: number; readonly callback: () => void } | undefined
    for (const timer of timers) if (timer.dueMs <= untilMs && (!next || timer.dueMs < next.dueMs)) next = timer
    return next
  }

  return {
    now: () => nowMs,
    setTimer(callback, delayMs) {
      const timer = { dueMs: nowMs + Math.max(0, delayMs), callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    soon: (callback) => void setImmediate(callback),
    async advance(ms) {
      if (!(ms >= 0 && ms < Infinity))
        throw new OptionsError(`advance: got ${describe(ms)}; expected a number of milliseconds of at least 0.`)
      const untilMs = nowMs + ms
      await atRest()
      for (let timer = nextDue(untilMs); timer !== undefined; timer = nextDue(untilMs)) {
        timers.delete(timer)
        nowMs = Math.max(nowMs, timer.dueMs)
        timer.callback()
        await atRest()
      }
      nowMs = untilMs
    },
  }
}

/** Turns of the event loop after each timer, in which the work it started can run. */
const TURNS = 4

async function atRest(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
