/** Everything that waits for its time, so that one can wait for all of it, or drop it. */
import type { Clock } from '../clock.ts'

export interface Timers {
  after(delayMs: number, run: () => void): void
  /** At a moment in milliseconds since the Unix epoch, however far off; at once where it has passed. */
  at(timeMs: number, run: () => void): void
  /** Resolves when nothing waits. */
  idle(): Promise<void>
  /** Drops all that waits, and takes nothing more. */
  close(): void
}

/** A clock's timers may be bounded, so a far moment is looked at again. */
const FURTHEST_MS = 86_400_000

export function createTimers(clock: Pick<Clock, 'now' | 'setTimer'>): Timers {
  const waiting = new Set<() => void>()
  const idle: (() => void)[] = []
  let closed = false

  function tellIdle(): void {
    if (waiting.size === 0) for (const resolve of idle.splice(0)) resolve()
  }

  function after(delayMs: number, run: () => void): void {
    if (closed) return
    const cancel = clock.setTimer(
      () => {
        waiting.delete(cancel)
        // What it starts waits before anybody hears that nothing does.
        run()
        tellIdle()
      },
      delayMs,
      true,
    )
    waiting.add(cancel)
  }

  function at(timeMs: number, run: () => void): void {
    const leftMs = timeMs - clock.now()
    if (leftMs <= FURTHEST_MS) after(Math.max(0, leftMs), run)
    else after(FURTHEST_MS, () => at(timeMs, run))
  }

  return {
    after,
    at,
    idle: () => (waiting.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    close() {
      closed = true
      for (const cancel of waiting) cancel()
      waiting.clear()
      tellIdle()
    },
  }
}
