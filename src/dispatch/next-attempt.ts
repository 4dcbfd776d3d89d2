/** Waiting for the next attempt of an event: with `answer: 'handled'` a callback is answered when its handlers have run. */
import { withDeadline, type Clock } from '../clock.ts'
import type { Changes } from './changes.ts'

export interface NextAttempt {
  /** Resolves when the next attempt of this event is over or none will be made, or after `timeoutMs`. */
  of(id: string, timeoutMs: number): Promise<void>
  isAwaited(id: string): boolean
  over(id: string): void
  /** None will be made any more, but of those that are `kept`. */
  noneBut(kept: (id: string) => boolean): void
}

export function createNextAttempt(clock: Clock, changes: Changes): NextAttempt {
  const waiters = new Map<string, () => void>()

  function over(id: string): void {
    waiters.get(id)?.()
    waiters.delete(id)
    changes.tell()
  }

  return {
    of(id, timeoutMs) {
      // An event is new once, so nobody else waits for its attempt.
      const next = new Promise<void>((resolve) => void waiters.set(id, resolve))
      // Another process may make it, and then nobody tells us.
      return withDeadline(clock, timeoutMs, next, () => void waiters.delete(id))
    },
    isAwaited: (id) => waiters.has(id),
    over,
    noneBut(kept) {
      for (const id of waiters.keys()) if (!kept(id)) over(id)
    },
  }
}
