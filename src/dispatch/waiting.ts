/**
 * Who waits for what dispatch does: for any change, or for the next attempt of an event. A waiter is told once, and then no more;
 * when an attempt is over, that is a change, too.
 */
import { withDeadline, type Clock } from '../runtime/clock.ts'

export interface WatchedAttempt {
  /** Resolves when the attempt is over or none will be made, or when its time is over. */
  readonly over: Promise<void>
  /** Nobody waits for it any more. */
  forget(): void
}

export interface Waiting {
  /** True as long as somebody waits for anything: mostly nobody does, and it is asked all the time. A field for that reason. */
  readonly isAnyone: boolean
  /** Resolves with the next change, or after `ms`. The process stays, for somebody waits for it. */
  nextChange(ms: number): Promise<void>
  changed(): void
  watchAttempt(id: string, timeoutMs: number): WatchedAttempt
  /** The next attempt at this event is over, or none will be made. */
  attempted(id: string): void
  /** The events whose next attempt somebody waits for. */
  watchedIds(): readonly string[]
}

export function createWaiting(clock: Clock): Waiting {
  const forChange = new Set<() => void>()
  const forAttempt = new Map<string, Set<() => void>>()

  function changed(): void {
    for (const resolve of forChange) resolve()
    forChange.clear()
    waiting.isAnyone = forAttempt.size > 0
  }

  const waiting = {
    isAnyone: false,
    nextChange: (ms: number) =>
      new Promise<void>((resolve) => {
        const cancel = clock.setTimer(resolve, ms, true)
        forChange.add(() => {
          cancel()
          resolve()
        })
        waiting.isAnyone = true
      }),
    changed,
    watchAttempt(id: string, timeoutMs: number): WatchedAttempt {
      // Repetitions of one callback, at once, each wait for themselves.
      const waiters = forAttempt.get(id) ?? new Set()
      forAttempt.set(id, waiters)
      let tell = (): void => {}
      const next = new Promise<void>((resolve) => {
        tell = resolve
        waiters.add(tell)
      })
      waiting.isAnyone = true
      function forget(): void {
        waiters.delete(tell)
        if (waiters.size === 0 && forAttempt.get(id) === waiters) forAttempt.delete(id)
        waiting.isAnyone = forChange.size > 0 || forAttempt.size > 0
        tell()
      }
      // Another process may make it, and then nobody tells us.
      return { over: withDeadline(clock, timeoutMs, next, forget), forget }
    },
    attempted(id: string) {
      for (const resolve of forAttempt.get(id) ?? []) resolve()
      forAttempt.delete(id)
      changed()
    },
    watchedIds: () => [...forAttempt.keys()],
  }
  return waiting
}
