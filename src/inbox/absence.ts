/** Says when a store that was away is back: its beginning is an error that was reported, and its end would be silent else. */
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'

/** Who asks the store, and finds it away or back: it is back when all of them have found it so. */
export type Asker = 'admission' | 'dispatch'

export interface Absence {
  /** Does nothing where this one has found it away before. */
  begin(asker: Asker): void
  /** So many events came out of the spool meanwhile. Does nothing where the store was there and the spool empty. */
  end(asker: Asker, fromSpool?: number): void
}

export function createAbsence({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): Absence {
  const askers = new Set<Asker>()
  let sinceMs = 0
  let taken = 0

  return {
    begin(asker) {
      if (askers.size === 0) sinceMs = clock.now()
      askers.add(asker)
    },
    end(asker, fromSpool = 0) {
      if (askers.size === 0) {
        if (fromSpool > 0)
          logger.info(
            { code: 'spool_emptied', fromSpool },
            `${count(fromSpool)} that an earlier process had left in the spool: taken from there into the store.`,
          )
        return
      }
      taken += fromSpool
      askers.delete(asker)
      if (askers.size > 0) return
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
    },
  }
}

function count(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}
