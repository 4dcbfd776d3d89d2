/** Tracks work that has not ended. */
export function createPending() {
  const pending = new Set<Promise<unknown>>()
  return {
    /** Returns the work, which must not reject. */
    track<T>(work: Promise<T>): Promise<T> {
      pending.add(work)
      return work.finally(() => pending.delete(work))
    },
    /** Resolves when no work is left. */
    async idle(): Promise<void> {
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}
