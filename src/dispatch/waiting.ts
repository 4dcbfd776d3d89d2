/**
 * Promises for changes in dispatch: any change, or the next attempt of an event. Each resolves once. The end of an attempt is a
 * change too.
 */
import { withDeadline, type Clock } from '../runtime/clock.ts'

export type Waiting = Readonly<ReturnType<typeof createWaiting>>

export function createWaiting(clock: Clock) {
  const forChange = new Set<() => void>()
  const forAttempt = new Map<string, Set<() => void>>()

  function changed(): void {
    for (const resolve of forChange) resolve()
    forChange.clear()
    waiting.isAnyone = forAttempt.size > 0
  }

  const waiting = {
    /** Whether anything waits. A field, because it is read often and is usually false. */
    isAnyone: false,
    /** Resolves with the next change or after `ms`. Keeps the process alive. */
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
    /** `over` resolves when the attempt has ended, when none will be made, or after the timeout. */
    watchAttempt(id: string, timeoutMs: number) {
      // Simultaneous copies of one callback wait independently.
      const waiters = forAttempt.get(id) ?? new Set()
      forAttempt.set(id, waiters)
      let release = (): void => {}
      const next = new Promise<void>((resolve) => {
        release = resolve
        waiters.add(release)
      })
      waiting.isAnyone = true
      function forget(): void {
        waiters.delete(release)
        if (waiters.size === 0 && forAttempt.get(id) === waiters) forAttempt.delete(id)
        waiting.isAnyone = forChange.size > 0 || forAttempt.size > 0
        release()
      }
      // The deadline covers an attempt by another process, which does not notify this one.
      return { over: withDeadline(clock, timeoutMs, next, forget), forget }
    },
    /** Notifies that the attempt has ended or will not be made. */
    attempted(id: string): void {
      for (const resolve of forAttempt.get(id) ?? []) resolve()
      forAttempt.delete(id)
      changed()
    },
    /** The ids of the events with an awaited attempt. */
    watchedIds: (): readonly string[] => [...forAttempt.keys()],
  }
  return waiting
}
