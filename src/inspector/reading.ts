/** What the receiver says of itself, asked once for all pages. */
import type { Clock } from '../clock.ts'
import type { Receiver, Stats } from '../surface.ts'
import type { Health } from '../telemetry/health.ts'
import type { Overview } from './shapes.ts'

export type OverviewReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine'>

interface Reading {
  readonly stats: Stats
  readonly health: Health
}

export type Read = () => Promise<Reading>

/** So long one reading serves all who ask. */
const FRESH_MS = 1_000

/** Asks the receiver, at most once a second however many pages there are. */
export function createReading(receiver: OverviewReceiver, clock: Clock): Read {
  let asked: { readonly atMs: number; readonly reading: Promise<Reading> } | undefined
  return () => {
    const nowMs = clock.now()
    if (asked !== undefined && Math.abs(nowMs - asked.atMs) < FRESH_MS) return asked.reading
    const reading = Promise.all([receiver.stats(), receiver.health()]).then(([stats, health]) => ({ stats, health }))
    asked = { atMs: nowMs, reading }
    return reading
  }
}

export function countsOf({ taken, duplicates, late, refused }: Stats): Overview['counts'] {
  return { taken, duplicates, late, refused }
}

export function backlogOf({ stats, health }: Reading): Overview['backlog'] {
  const { unsettled, running } = stats
  return {
    running,
    ...(unsettled !== undefined && { unsettled }),
    ...(health.oldestDueMs !== undefined && { oldestDueSeconds: health.oldestDueMs / 1_000 }),
  }
}
