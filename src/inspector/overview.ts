/** How everything is, in one answer, and first what needs somebody: from counts that are kept anyway, and what the receiver says. */
import type { Clock } from '../runtime/clock.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Receiver, Stats } from '../receiver/surface.ts'
import { HEALTH_REASONS, type Health } from '../operations/health.ts'
import type { Letters } from './dead-letters.ts'
import type { Inside } from '../receiver/inside.ts'
import type { Rights } from './options.ts'
import type { Kept } from './quarantine.ts'
import { isoOf } from './rows.ts'
import { wordIn } from './queries.ts'
import type { Attention, Overview } from './shapes.ts'
import { createHistory, createWatcher, RANGES, type History, type Watcher } from './watch.ts'

type OverviewReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine'>

interface Reading {
  readonly stats: Stats
  readonly health: Health
}

/** What is remembered of a receiver: once, however many inspectors are mounted on it. */
export interface Looking {
  readonly inside: Inside
  readonly watcher: Watcher
  readonly history: History
  /** How the receiver is now; at most a second ago. */
  readonly read: () => Promise<Reading>
}

const LOOKED_AT = new WeakMap<Inside, Looking>()
/** So long one reading serves all who ask. */
const FRESH_MS = 1_000

/** Begins to look, until the receiver closes. */
export function lookAt(receiver: OverviewReceiver & Pick<Receiver, 'onError'>, inside: Inside): Looking {
  const known = LOOKED_AT.get(inside)
  if (known !== undefined) return known
  const { clock, counts, secrets } = inside
  const watcher = createWatcher(() => clock.now(), secrets)
  const history = createHistory(clock, counts, () => watcher)
  const stops = [inside.watch(watcher), receiver.onError(history.troubled), history.stop]
  inside.onClosing(() => {
    for (const stop of stops) stop()
  })
  const looking = { inside, watcher, history, read: createReading(receiver, clock) }
  LOOKED_AT.set(inside, looking)
  return looking
}

function createReading(receiver: OverviewReceiver, clock: Clock): Looking['read'] {
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
    unsettled,
    oldestDueSeconds: health.oldestDueMs === undefined ? undefined : health.oldestDueMs / 1_000,
  }
}

interface OverviewParts {
  readonly receiver: OverviewReceiver
  readonly looking: Looking
  readonly letters: Letters
  readonly kept: Kept
}

/** GET api/overview?range. */
export async function overview(query: URLSearchParams, rights: Rights, parts: OverviewParts): Promise<Overview> {
  const { looking, receiver } = parts
  const { inside, watcher, history, read } = looking
  const range = wordIn(query, 'range', RANGES) ?? '1h'
  const reading = await read()
  const { stats } = reading
  const nowMs = inside.clock.now()
  const quarantined = receiver.quarantine.counts()
  const plot = history.plot(range)
  const rangeBeganMs = nowMs - plot.buckets.length * plot.bucketSeconds * 1_000
  return {
    now: isoOf(nowMs),
    since: isoOf(history.sinceMs),
    attention: await attentionOf(reading, rights, parts),
    counts: countsOf(stats),
    byType: withoutZeros(stats.byType),
    byCarrier: withoutZeros(byCarrier(inside)),
    lastByCarrier: watcher.lastByCarrier(),
    plot: { ...plot, handlerP95Ms: watcher.attemptP95Ms(rangeBeganMs) },
    backlog: backlogOf(reading),
    deadLetters: stats.deadLetters,
    quarantine: Object.fromEntries(QUARANTINE_CLASSES.map((name) => [name, quarantined[name]])),
    store: { name: inside.capabilities.name, state: stats.store },
    spool: inside.spool(),
    holders: (stats.holders ?? []).map(({ since, ...holder }) => ({ ...holder, since: since?.toISOString() })),
    trouble: history.trouble(),
  }
}

const MOST_CAUSES = 5
const OVERDUE_WITHIN_MS = 3_600_000
/** When each reason of bad health was first seen here. */
const seenSince = new WeakMap<Looking, Map<string, number>>()

/** The gravest first. */
async function attentionOf(
  { stats, health }: Reading,
  rights: Rights,
  { receiver, looking, letters, kept }: OverviewParts,
): Promise<readonly Attention[]> {
  const nowMs = looking.inside.clock.now()
  const reasons = health.reasons.filter(({ code }) => HEALTH_REASONS[code][0].length > 0 && code !== 'backlog_old')
  const before = seenSince.get(looking)
  const since = new Map(reasons.map(({ code }) => [code, before?.get(code) ?? nowMs]))
  seenSince.set(looking, since)
  const ill = reasons.map(({ code, text }): Attention => {
    const isAway = code === 'store_away' || code === 'nowhere_to_keep'
    const waiting = isAway && stats.spooled > 0 ? `: ${several(stats.spooled, 'callback')} in the spool` : ''
    const title = isAway ? `Store unavailable${waiting}` : 'Not healthy'
    return { what: 'health', title, text, since: isoOf(since.get(code) ?? nowMs) }
  })
  const kinds = await kept.groups()
  const counts = receiver.quarantine.counts()
  const refused = QUARANTINE_CLASSES.filter((name) => name !== 'rest').flatMap((group): Attention | readonly [] => {
    // Of several causes the largest; there may be more requests than were grouped.
    const kind = kinds.find((each) => each.class === group)
    const title = `${counts[group]} refused: ${kind?.guess ?? ''}`
    return kind === undefined ? [] : { what: 'refused', title, group, text: kind.why, since: kind.since }
  })
  const isWithLetters = stats.store === 'up' && stats.deadLetters !== 0
  const { groups } = isWithLetters ? await letters.list(new URLSearchParams('limit=1'), rights) : { groups: [] }
  const dead = groups.map(({ id: group, error: text, count, since: from }): Attention => {
    return { what: 'dead-letters', title: several(count, 'dead letter'), group, text, count, since: from }
  })
  const overdueMs = looking.watcher.overdueSince(nowMs - OVERDUE_WITHIN_MS)
  const overdue = overdueMs.slice(0, 1).map((firstMs): Attention => {
    const title = `${several(overdueMs.length, 'send')} overdue`
    return { what: 'overdue', title, since: isoOf(firstMs), text: 'No final report came in time.' }
  })
  const backlog = health.reasons
    .filter(({ code }) => code === 'backlog_old')
    .map(({ text }): Attention => {
      const title = `Backlog: ${several(stats.unsettled ?? 0, 'event')} waiting`
      return { what: 'backlog', title, since: isoOf(nowMs - (health.oldestDueMs ?? 0)), text }
    })
  return [...ill, ...refused, ...dead.slice(0, MOST_CAUSES), ...overdue, ...backlog]
}

function several(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}

function byCarrier({ counts }: Inside): Readonly<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const carriers of Object.values(counts.events))
    for (const [carrier, count] of Object.entries(carriers))
      if (carrier !== 'none') all[carrier] = (all[carrier] ?? 0) + count
  return all
}

function withoutZeros(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
