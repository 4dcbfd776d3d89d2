/** What is remembered of a receiver: once, however many inspectors are mounted on it. */
import type { Receiver } from '../surface.ts'
import { createHistory, type History } from './history.ts'
import type { Inside } from './inside.ts'
import { createReading, type OverviewReceiver, type Read } from './reading.ts'
import { createWatcher, type Watcher } from './watch.ts'

export interface Looking {
  readonly inside: Inside
  readonly watcher: Watcher
  readonly history: History
  /** How the receiver is now; at most a second ago. */
  readonly read: Read
}

const LOOKED_AT = new WeakMap<Inside, Looking>()

/** Begins to look, until the receiver closes. */
export function lookAt(receiver: OverviewReceiver & Pick<Receiver, 'onError'>, inside: Inside): Looking {
  const known = LOOKED_AT.get(inside)
  if (known !== undefined) return known
  const { clock, counts, secrets } = inside
  const watcher = createWatcher(() => clock.now(), secrets)
  const history = createHistory(clock, counts, () => watcher.failures)
  const stops = [inside.watch(watcher), receiver.onError(history.troubled), history.stop]
  inside.onClosing(() => {
    for (const stop of stops) stop()
  })
  const looking = { inside, watcher, history, read: createReading(receiver, clock) }
  LOOKED_AT.set(inside, looking)
  return looking
}
