/** Removes data past its retention while the store is open. */
import type { SteadyClock } from '../runtime/clock.ts'
import type { OpenStore } from './store.ts'

const PRUNE_EVERY_MS = 60_000
const PRUNE_AGAIN_MS = 1_000

interface Pruning {
  /** Starts pruning this store. No effect after `stop`. */
  begin(target: OpenStore<object>): void
  stop(): void
}

export function createPruning(clock: SteadyClock): Pruning {
  /** Advances only by elapsed timers: a wall clock that jumps ahead must not age any data. */
  let prunedUntilMs: number | undefined
  let isStopped = false
  let cancel = (): void => {}

  /** Prunes in steps, and again soon while there is data to remove, so that a busy store keeps up. */
  function pruneIn(afterMs: number, target: OpenStore<object>): void {
    if (isStopped) return
    prunedUntilMs ??= clock.now() - clock.aheadMs
    cancel = clock.setTimer(() => {
      prunedUntilMs = Math.min((prunedUntilMs ?? Infinity) + afterMs, clock.now() - clock.aheadMs)
      const untilMs = prunedUntilMs
      const prune = async (): Promise<number> => target.prune(untilMs)
      // A failed step is retried in a minute.
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
