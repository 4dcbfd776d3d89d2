/**
 * While the store is away: events go into the spool and are drained into the store, in order, when it is back. As long as
 * the spool holds anything, new events go through it too, so that nothing overtakes.
 */
import type { Clock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Spool } from './spool/spool.ts'
import type { NewEvent } from './store.ts'

export interface Outage {
  /** True while new events must go through the spool. */
  readonly active: boolean
  /** Events in the spool. */
  readonly held: number
  /** The store has failed: from now on everything goes through the spool. Does nothing during an outage. */
  begin(cause: unknown): void
  /** Keeps an event in the spool. Rejects with `spool_failed` where that cannot be done either. */
  keep(event: NewEvent): Promise<void>
  stop(): void
}

const FIRST_LOOK_MS = 250
const LONGEST_LOOK_MS = 5_000

export function createOutage(options: {
  readonly clock: Clock
  readonly spool: Pick<Spool, 'append' | 'drain' | 'size'>
  /** Puts what was spooled into the store; rejects while the store is away. */
  readonly take: (events: readonly NewEvent[]) => Promise<void>
  readonly report: (error: MessagingWebhooksError) => void
  /** Everything is in the store again. */
  readonly onOver: () => void
}): Outage {
  const { clock, spool, take, report, onOver } = options
  let active = spool.size > 0
  let appending = 0
  let lookMs = FIRST_LOOK_MS
  let cancelLook = (): void => {}
  let stopped = false

  function begin(cause: unknown): void {
    if (active) return
    active = true
    lookMs = FIRST_LOOK_MS
    // Once an outage, not once a callback.
    report(new MessagingWebhooksError('store_outage', undefined, { cause }))
    look()
  }

  function look(): void {
    if (stopped) return
    cancelLook = clock.setTimer(() => void drain(), lookMs)
  }

  async function drain(): Promise<void> {
    try {
      await spool.drain(take)
      // With nothing to drain the store has not been asked yet, and it may still refuse to open.
      await take([])
    } catch {
      lookMs = Math.min(lookMs * 2, LONGEST_LOOK_MS)
      look()
      return
    }
    if (spool.size > 0 || appending > 0) {
      look()
      return
    }
    active = false
    onOver()
  }

  if (active) look()

  return {
    get active() {
      return active
    },
    get held() {
      return spool.size
    },
    begin,
    async keep(event) {
      appending += 1
      try {
        await spool.append([event])
      } catch (error) {
        throw new MessagingWebhooksError('spool_failed', undefined, { cause: error })
      } finally {
        appending -= 1
      }
    },
    stop() {
      stopped = true
      cancelLook()
    },
  }
}
