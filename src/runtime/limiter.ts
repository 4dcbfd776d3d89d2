/** Limits how many tasks run at once. */

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
