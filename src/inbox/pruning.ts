/** Forgets what is older than its retention, as long as the store is open. */
import type { SteadyClock } from '../runtime/clock.ts'
import type { OpenStore } from './store.ts'

const PRUNE_EVERY_MS = 60_000
const PRUNE_AGAIN_MS = 1_000

interface Pruning {
  /** From now on, in this store. Does nothing after `stop`. */
  begin(target: OpenStore<object>): void
  stop(): void
}

export function createPruning(clock: SteadyClock): Pruning {
  /** No timer proves that it is later: a wall clock that jumps ahead makes nothing old enough to be forgotten. */
  let prunedUntilMs: number | undefined
  let isStopped = false
  let cancel = (): void => {}

  /** A step at a time: soon again while there is something to forget, so that a busy store keeps up. */
  function pruneIn(afterMs: number, target: OpenStore<object>): void {
    if (isStopped) return
    prunedUntilMs ??= clock.now() - clock.aheadMs
    cancel = clock.setTimer(() => {
      prunedUntilMs = Math.min((prunedUntilMs ?? Infinity) + afterMs, clock.now() - clock.aheadMs)
      const untilMs = prunedUntilMs
      const prune = async (): Promise<number> => target.prune(untilMs)
      // What could not be pruned now will be in a minute.
      void prune().then(
        (forgotten) => pruneIn(forgotten > 0 ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS, target),
        () => pruneIn(PRUNE_EVERY_MS, target),
      )
    }, afterMs)
  }

  return {
    begin: (target) => pruneIn(PRUNE_EVERY_MS, target),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
