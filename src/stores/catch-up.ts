/** A clock that was set back must not leave events waiting until it has caught up with the time of their admission. */
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import type { Awaitable } from '../inbox/store.ts'

const MAX_STEP = 500
/** No lease and no retry lasts longer. */
const LATER_MS = LONGEST_TIMER_MS

/**
 * Makes messages due whose events were admitted later than it is now. `latestMs`: the latest time known before the clock was set
 * back. It went on since, and leases and retries end later.
 */
export async function catchUp(
  store: {
    readonly dueBy: (ms: number, limit: number, exclude: ReadonlySet<string>) => Awaitable<readonly string[]>
    readonly run: (
      commands: readonly { readonly do: 'catchUp'; readonly key: string }[],
    ) => Awaitable<readonly boolean[]>
  },
  latestMs: number,
): Promise<void> {
  const seen = new Set<string>()
  for (;;) {
    const keys = await store.dueBy(latestMs + LATER_MS, MAX_STEP, seen)
    if (keys.length === 0) return
    for (const key of keys) seen.add(key)
    await store.run(keys.map((key) => ({ do: 'catchUp' as const, key })))
  }
}
