/** A clock that stands still until a test moves it. Sockets go on as ever, so callbacks can be POSTed meanwhile. */
import type { Clock } from 'messaging-webhooks'

export interface FakeClock extends Clock {
  /** Moves the time on, firing each timer at its own moment and letting what it starts come to rest. */
  advance(ms: number): Promise<void>
}

export function fakeClock(startMs = Date.now()): FakeClock {
  let nowMs = startMs
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

export function isFakeClock(clock: unknown): clock is FakeClock {
  return typeof clock === 'object' && clock !== null && 'advance' in clock
}

/** Until what was started has run as far as it can without time passing. */
export async function atRest(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
