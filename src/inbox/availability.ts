/** Tracks whether the store is unavailable, and reports the start and the end of each outage once. */
import type { Clock } from '../runtime/clock.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Logger } from '../runtime/logger.ts'

/**
 * A part of the receiver that calls the store. An outage ends when every part that failed has succeeded again. `admission`
 * applies without a spool, and calls the store only when a callback arrives.
 */
type Asker = 'admission' | 'spool' | 'dispatch'

export interface StoreAvailability {
  /** Parts that failed and have not succeeded since. A field instead of a getter, because every event reads it. */
  readonly foundBy: ReadonlySet<Asker>
  /** True if a part that retries on its own has failed. Does not count `admission`: only the next callback retries that. */
  readonly isUnavailable: boolean
  /** Number of failures found. Read it before a call, for `endAnswered`. */
  readonly found: number
  /** Reports `error` for the first failure of this part. Later failures belong to the same outage until it succeeds. */
  begin(asker: Asker, error?: MessagingWebhooksError): void
  /** Records a success of this part, and `fromSpool`, the number of events moved from the spool into the store. */
  end(asker: Asker, fromSpool?: number): void
  /** Like `end`, but ignores a call that began before the latest failure. `foundBefore` is `found` when the call began. */
  endAnswered(asker: Asker, foundBefore: number): void
}

interface AvailabilityOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError) => void
}

export function trackStoreAvailability({ clock, logger, report }: AvailabilityOptions): StoreAvailability {
  const foundBy = new Set<Asker>()
  let sinceMs = 0
  let moved = 0

  const availability = {
    foundBy,
    found: 0,
    get isUnavailable() {
      return foundBy.has('spool') || foundBy.has('dispatch')
    },
    begin(asker: Asker, error?: MessagingWebhooksError) {
      if (foundBy.has(asker)) return
      if (foundBy.size === 0) sinceMs = clock.now()
      foundBy.add(asker)
      availability.found += 1
      if (error !== undefined) report(error)
    },
    end,
    endAnswered(asker: Asker, foundBefore: number) {
      if (foundBefore === availability.found) end(asker)
    },
  }
  return availability

  function end(asker: Asker, fromSpool = 0): void {
    if (foundBy.size === 0) {
      if (fromSpool > 0)
        logger.info(
          { code: 'spool_emptied', fromSpool },
          `Moved ${count(fromSpool)} of an earlier process from the spool into the store.`,
        )
      return
    }
    moved += fromSpool
    if (!foundBy.delete(asker) || foundBy.size > 0) return
    const unavailableMs = clock.now() - sinceMs
    const spooled = moved === 0 ? 'No event was spooled.' : `Moved ${count(moved)} from the spool into the store.`
    logger.warn(
      { code: 'store_back', unavailableMs, fromSpool: moved },
      `The store is back after ${(unavailableMs / 1_000).toFixed(1)} s. ${spooled}`,
    )
    moved = 0
  }
}

function count(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}
