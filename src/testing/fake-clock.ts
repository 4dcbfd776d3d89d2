/** A clock for tests, so that they need not sleep through a gap, a retry or the 300 s of a signature. */
import { describe } from '../runtime/check-options.ts'
import type { Clock } from '../runtime/clock.ts'
import { OptionsError } from '../public/errors.ts'

/** What `createReceiver({ clock })` takes, and a test moves. */
export interface FakeClock extends Clock {
  /**
   * Moves the time on by `ms` milliseconds. Each timer fires at its own moment, and what it starts comes to rest before
   * the next one, as far as it waits for nothing outside this process.
   */
  advance(ms: number): Promise<void>
}

/**
 * A clock that stands still until `advance` moves it. It starts at `start` (a Date, or milliseconds since the Unix epoch;
 * default: now). Sockets and disks go on as ever, so callbacks can be delivered meanwhile.
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

/** Turns of the event loop in which what a timer started runs as far as it can without time passing. */
const TURNS = 4

async function atRest(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
