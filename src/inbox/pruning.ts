/** Removes data past its retention while the store is open, in steps, and again soon while there is more. */
import type { Clock } from '../runtime/clock.ts'
import type { MessageStore } from './store.ts'

const EVERY_MS = 60_000
const AGAIN_MS = 1_000
const MAX_STEP = 1_000

export function createPruning(clock: Clock) {
  let isStopped = false
  let cancel = (): void => {}

  function pruneIn(afterMs: number, store: MessageStore<object>): void {
    if (isStopped) return
    cancel = clock.setTimer(() => {
      void pruneStep(store).then(
        (removed) => pruneIn(removed > 0 ? AGAIN_MS : EVERY_MS, store),
        // A failed step is retried in a minute.
        () => pruneIn(EVERY_MS, store),
      )
    }, afterMs)
  }

  return {
    /** Starts pruning this store. No effect after `stop`. */
    begin: (store: MessageStore<object>) => pruneIn(EVERY_MS, store),
    stop(): void {
      isStopped = true
      cancel()
    },
  }
}

/** Returns how many messages have lost something. */
export async function pruneStep(store: MessageStore<object>): Promise<number> {
  const { keys } = await store.due({ of: 'retention', limit: MAX_STEP })
  const answers = await store.run(keys.map((key) => ({ do: 'expire' as const, key })))
  return answers.filter((answer) => answer !== 'kept').length
}
