/** Lets somebody wait until something has changed: an attempt or a claim is over. */
import type { Clock } from '../clock.ts'

export interface Changes {
  tell(): void
  /** Waits for the next change, at most `ms`. Somebody waits for us, so the process must stay. */
  next(ms: number): Promise<void>
}

export function createChanges(clock: Clock): Changes {
  const waiters = new Set<() => void>()
  return {
    tell() {
      // Each clear() makes a new table, which the old one holds on to: nobody waits mostly, and this is called all the time.
      if (waiters.size === 0) return
      for (const resolve of waiters) resolve()
      waiters.clear()
    },
    async next(ms) {
      let cancel = (): void => {}
      await new Promise<void>((resolve) => {
        waiters.add(resolve)
        cancel = clock.setTimer(resolve, ms, true)
      })
      cancel()
    },
  }
}
