/** A clock that was set back must not leave events waiting until it has caught up with the time of their admission. */
import type { Awaitable } from '../inbox/store.ts'

const MAX_STEP = 500
/** The clock went on after the latest time that is known, and events wait for a retry. */
const LATER_MS = 3_600_000

/**
 * Goes through the messages that are due until an hour after `untilMs`, the latest time known before the clock was set back, and makes those
 * due now whose events were admitted later than it is now.
 */
export async function catchUp(
  store: {
    readonly dueBy: (ms: number, limit: number, exclude: ReadonlySet<string>) => Awaitable<readonly string[]>
    readonly run: (
      commands: readonly { readonly do: 'catchUp'; readonly key: string }[],
    ) => Awaitable<readonly boolean[]>
  },
  untilMs: number,
): Promise<void> {
  const seen = new Set<string>()
  for (;;) {
    const keys = await store.dueBy(untilMs + LATER_MS, MAX_STEP, seen)
    if (keys.length === 0) return
    for (const key of keys) seen.add(key)
    await store.run(keys.map((key) => ({ do: 'catchUp' as const, key })))
  }
}
