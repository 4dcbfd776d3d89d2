/** Shares one reading of something expensive among all who ask for it. */
import type { Clock } from './clock.ts'

/** A reading that takes long is used for longer: reading takes at most this share of the time. */
const SHARE = 20

/** Reads once for all who ask within `freshForMs`. `forget` makes the next one read again. A failure is not kept. */
export function createReading<T>(clock: Clock, freshForMs: number, read: () => Promise<T>) {
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
        reading.freshForMs = Math.max(freshForMs, SHARE * (reading.doneAtMs - begunMs))
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
