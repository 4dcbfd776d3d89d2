/** Repeated checks of a server. */
import { systemClock } from '../runtime/clock.ts'

/** Repeats a check `everyMs` after the last one ended. If a server is unavailable, the operations report it. */
export function watch<T>(everyMs: number, look: () => Promise<T>, seen: (found: T) => void): () => void {
  let cancel = lookLater()
  let ended = false

  function lookLater(): () => void {
    return systemClock().setTimer(() => void lookNow(), everyMs)
  }

  async function lookNow(): Promise<void> {
    const found = await look().catch(() => undefined)
    if (ended) return
    cancel = lookLater()
    if (found !== undefined) seen(found)
  }

  return () => {
    ended = true
    cancel()
  }
}
