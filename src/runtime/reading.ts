/** Shares the result of an expensive read among concurrent callers. */
import type { Clock } from './clock.ts'

/**
 * Calls within `freshForMs` share one read. A slow read stays fresh for `share` times its duration, which limits the share of
 * time spent reading. After `forget` or a failure, the next call reads again.
 */
export function createReading<T>(clock: Clock, freshForMs: number, read: () => Promise<T>, share = 20) {
  let latest: { readonly value: Promise<T>; doneAtMs?: number; freshForMs: number } | undefined

  return {
    get(): Promise<T> {
      const begunMs = clock.now()
      const isFresh = latest?.doneAtMs === undefined || Math.abs(begunMs - latest.doneAtMs) < latest.freshForMs
      if (latest !== undefined && isFresh) return latest.value
      const reading: NonNullable<typeof latest> = { value: read(), freshForMs }
      latest = reading
      const done = (): void => {
        reading.doneAtMs = clock.now()
        reading.freshForMs = Math.max(freshForMs, share * (reading.doneAtMs - begunMs))
      }
      const forget = (): void => {
        if (latest === reading) latest = undefined
      }
      reading.value.then(done, forget)
      return reading.value
    },
    forget(): void {
      latest = undefined
    },
  }
}
