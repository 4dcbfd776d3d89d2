/** How everything is, in one answer: from counts that are kept anyway, and from what the receiver says of itself. */
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Inside } from './inside.ts'
import type { Looking } from './looking.ts'
import { backlogOf, countsOf, type OverviewReceiver } from './reading.ts'
import type { Overview } from './shapes.ts'

export async function overview(
  receiver: OverviewReceiver,
  { inside, watcher, history, read }: Looking,
): Promise<Overview> {
  const reading = await read()
  const { stats, health } = reading
  const quarantined = receiver.quarantine.counts()
  return {
    now: iso(inside.clock.now()),
    since: iso(history.sinceMs),
    counts: countsOf(stats),
    byType: withoutZeros(stats.byType),
    byCarrier: withoutZeros(byCarrier(inside)),
    byChannel: watcher.byChannel(),
    refusedBy: withoutZeros(refusedBy(inside)),
    plot: history.plot(),
    backlog: backlogOf(reading),
    ...(stats.deadLetters !== undefined && { deadLetters: stats.deadLetters }),
    overdue: watcher.overdue,
    quarantine: Object.fromEntries(QUARANTINE_CLASSES.map((name) => [name, quarantined[name]])),
    store: { name: inside.capabilities.name, state: stats.store },
    spool: inside.spool(),
    holders: (stats.holders ?? []).map(({ name, isSelf, since, silentMs, held }) => ({
      name,
      isSelf,
      ...(since !== undefined && { since: since.toISOString() }),
      silentMs,
      held,
    })),
    health: {
      live: health.live,
      ready: health.ready,
      // What nobody can know here is no failure.
      working: health.working ?? true,
      reasons: health.reasons.map(({ text }) => text),
    },
    trouble: history.trouble(),
  }
}

function byCarrier({ counts }: Inside): Readonly<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const carriers of Object.values(counts.events))
    for (const [carrier, count] of Object.entries(carriers))
      if (carrier !== 'none') all[carrier] = (all[carrier] ?? 0) + count
  return all
}

function refusedBy({ counts }: Inside): Readonly<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const { refused } of Object.values(counts.kinds))
    for (const [code, count] of Object.entries(refused)) all[code] = (all[code] ?? 0) + count
  return all
}

function withoutZeros(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
