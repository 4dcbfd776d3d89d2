/** Runs asynchronous work in turn, a few at a time, or once for several callers. */
import type { Clock } from './clock.ts'

/** Runs tasks one after another, in the order of the calls. A failed task does not stop the next. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => {})
    return run
  }
}

interface LimiterOptions {
  readonly atOnce: number
  readonly mostWaiting: number
  /** The error for a task that is refused because too many wait. */
  readonly full: () => Error
}

/** Runs each task when its turn comes. A failed task does not stop the next. */
export function createLimiter({
  atOnce,
  mostWaiting,
  full,
}: LimiterOptions): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []

  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) throw full()
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The next task takes the place of this one.
      if (next === undefined) running -= 1
      else next()
    }
  }
}

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
