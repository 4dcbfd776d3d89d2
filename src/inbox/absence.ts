/** Knows whether the store is away, and says it once when it goes and once when it is back, for all who ask it. */
import type { Clock } from '../runtime/clock.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { Logger } from '../runtime/logger.ts'

/**
 * Who asks the store, and finds it away or back: it is back when all of them have found it so. Callbacks alone ask for
 * `admission` where there is no spool.
 */
type Asker = 'admission' | 'spool' | 'dispatch'

export interface Absence {
  /** Who has found it away and not yet back. A field, for every event looks at it. */
  readonly foundBy: ReadonlySet<Asker>
  /** Found away by those who try again by themselves: what callbacks alone have found, only a callback finds otherwise. */
  readonly isAway: boolean
  /** How often an asker has found it away. Note it before a call: what began earlier than a failure says nothing about it. */
  readonly found: number
  /** Reports `error`, if any, unless this one has found it away before: until it has answered, failures are the same outage. */
  begin(asker: Asker, error?: MessagingWebhooksError): void
  /** So many events came out of the spool meanwhile. Does nothing where the store was there and the spool empty. */
  end(asker: Asker, fromSpool?: number): void
  /** As `end`, unless the store was found away after the call began that it has answered: `foundBefore` is `found` of then. */
  endAnswered(asker: Asker, foundBefore: number): void
}

interface AbsenceOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError) => void
}

export function createAbsence({ clock, logger, report }: AbsenceOptions): Absence {
  const foundBy = new Set<Asker>()
  let sinceMs = 0
  let taken = 0

  const absence = {
    foundBy,
    found: 0,
    get isAway() {
      return foundBy.has('spool') || foundBy.has('dispatch')
    },
    begin(asker: Asker, error?: MessagingWebhooksError) {
      if (foundBy.has(asker)) return
      if (foundBy.size === 0) sinceMs = clock.now()
      foundBy.add(asker)
      absence.found += 1
      if (error !== undefined) report(error)
    },
    end,
    endAnswered(asker: Asker, foundBefore: number) {
      if (foundBefore === absence.found) end(asker)
    },
  }
  return absence

  function end(asker: Asker, fromSpool = 0): void {
    if (foundBy.size === 0) {
      if (fromSpool > 0)
        logger.info(
          { code: 'spool_emptied', fromSpool },
          `${count(fromSpool)} that an earlier process had left in the spool: taken from there into the store.`,
        )
      return
    }
    taken += fromSpool
    if (!foundBy.delete(asker) || foundBy.size > 0) return
    const awayMs = clock.now() - sinceMs
    const spooled =
      taken === 0
        ? 'no event had to wait in a spool'
        : `${count(taken)} ${taken === 1 ? 'was' : 'were'} taken from the spool`
    logger.warn(
      { code: 'store_back', awayMs, fromSpool: taken },
      `The store is back. It was away for ${(awayMs / 1_000).toFixed(1)} s, and ${spooled}.`,
    )
    taken = 0
  }
}

function count(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}
