/** Looks for work of other processes at intervals. */
import type { Clock } from '../../runtime/clock.ts'

/** The first interval begins with `restart`. */
export function createPolling(clock: Clock, onWork: () => void, intervalMs: () => number) {
  let isStopped = false
  let cancel = (): void => {}

  function restart(): void {
    cancel()
    if (isStopped) return
    cancel = clock.setTimer(() => {
      onWork()
      restart()
    }, intervalMs())
  }

  return {
    restart,
    stop: (): void => {
      isStopped = true
      cancel()
    },
  }
}
