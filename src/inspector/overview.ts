/**
 * The state of the receiver in one answer, problems first: from counts that are kept anyway, and from the receiver's health.
 */
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Receiver, ReceiverStats } from '../receiver/surface.ts'
import { HEALTH_REASONS, type ReceiverHealth } from '../operations/health.ts'
import type { Letters } from './dead-letters.ts'
import type { Inside } from '../receiver/inside.ts'
import type { Rights } from './options.ts'
import type { Kept } from './quarantine.ts'
import { iso, isoOf } from './rows.ts'
import { createHistory, createWatcher, type History, type Range, type Watcher } from './watch.ts'

/** The part of a receiver that the inspector uses. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'deadLetters'>

interface Reading {
  readonly stats: ReceiverStats
  readonly health: ReceiverHealth
}

/** What is remembered of a receiver: once, however many inspectors are mounted on it. */
export interface Looking {
  readonly inside: Inside
  readonly watcher: Watcher
  readonly history: History
  /** The current state, at most a second old, so that one query of the store serves all open pages. */
  readonly read: () => Promise<Reading>
  /** When each reason of bad health was first seen here. */
  readonly illSince: Map<string, number>
}

const LOOKED_AT = new WeakMap<Inside, Looking>()
const FRESH_MS = 1_000

/** Starts observing, until the receiver closes. */
export function lookAt(receiver: InspectedReceiver, inside: Inside): Looking {
  const known = LOOKED_AT.get(inside)
  if (known !== undefined) return known
  const { clock, counts, secrets } = inside
  const watcher = createWatcher(() => clock.now(), secrets)
  const history = createHistory(clock, counts, watcher.counts)
  const stopWatching = inside.watch(watcher)
  inside.onClosing(() => {
    stopWatching()
    history.stop()
  })
  let asked: { readonly atMs: number; readonly reading: Promise<Reading> } | undefined
  function read(): Promise<Reading> {
    const nowMs = clock.now()
    if (asked !== undefined && Math.abs(nowMs - asked.atMs) < FRESH_MS) return asked.reading
    const reading = Promise.all([receiver.stats(), receiver.health()]).then(([stats, health]) => ({ stats, health }))
    asked = { atMs: nowMs, reading }
    return reading
  }
  const looking = { inside, watcher, history, read, illSince: new Map<string, number>() }
  LOOKED_AT.set(inside, looking)
  return looking
}

/** A problem that requires action. */
interface Attention {
  readonly what: 'health' | 'refused' | 'dead-letters' | 'overdue' | 'backlog'
  /** Such as `14 refused: wrong secret?`. */
  readonly title: string
  readonly since: string
  /** A sentence, the error, or the sentence of the refusal's code. */
  readonly text: string
  /** For dead letters: their number, and the group, as `error` of api/dead-letters. For refusals: the class. */
  readonly count?: number
  readonly group?: string
}

interface OverviewParts {
  readonly receiver: InspectedReceiver
  readonly looking: Looking
  readonly letters: Letters
  readonly kept: Kept
}

/** GET api/overview?range. */
export async function overview(range: Range, rights: Rights, parts: OverviewParts) {
  const { inside, watcher, history, read } = parts.looking
  const reading = await read()
  const { taken, duplicates, late, refused, unsettled, deadLetters, byType } = reading.stats
  const plot = history.plot(range)
  const rangeBeganMs = inside.clock.now() - plot.buckets.length * plot.bucketSeconds * 1_000
  return {
    since: isoOf(history.sinceMs),
    attention: await attentionOf(reading, rights, parts),
    stats: { taken, duplicates, late, refused, unsettled, deadLetters, byType },
    oldestDueMs: reading.health.oldestDueMs,
    quarantined: parts.receiver.quarantine.size,
    carriers: carriersOf(inside, watcher),
    plot: { ...plot, handlerP95Ms: watcher.attemptP95Ms(rangeBeganMs) },
  }
}

/** Carriers and channels with events, and the last report of each. */
function carriersOf({ counts }: Inside, watcher: Watcher) {
  const all = new Map<string, number>()
  for (const carriers of Object.values(counts.events))
    for (const [name, count] of Object.entries(carriers))
      if (name !== 'none' && count > 0) all.set(name, (all.get(name) ?? 0) + count)
  return [...all].map(([name, count]) => ({ name, count, last: iso(watcher.carriers.get(name)) }))
}

const MOST_CAUSES = 5
const OVERDUE_WITHIN_MS = 3_600_000

/** The most serious first. */
async function attentionOf(
  { stats, health }: Reading,
  rights: Rights,
  { receiver, looking, letters, kept }: OverviewParts,
): Promise<readonly Attention[]> {
  const { illSince, inside, watcher } = looking
  const nowMs = inside.clock.now()
  const isOld = health.reasons.find(({ code }) => code === 'backlog_old')
  const reasons = health.reasons.filter((reason) => reason !== isOld && HEALTH_REASONS[reason.code][0].length > 0)
  for (const code of illSince.keys()) if (!reasons.some((reason) => reason.code === code)) illSince.delete(code)
  const ill = reasons.map(({ code, text }): Attention => {
    const sinceMs = illSince.get(code) ?? nowMs
    illSince.set(code, sinceMs)
    const isAway = code === 'store_away' || code === 'nowhere_to_keep'
    const waiting = isAway && stats.spooled > 0 ? `: ${several(stats.spooled, 'callback')} in the spool` : ''
    const title = isAway ? `Store unavailable${waiting}` : 'Not healthy'
    return { what: 'health', title, text, since: isoOf(sinceMs) }
  })
  const causes = await kept.groups()
  const counts = receiver.quarantine.counts()
  const refused = QUARANTINE_CLASSES.filter((name) => name !== 'rest').flatMap((group): Attention | readonly [] => {
    // Of several causes the largest. There may be more requests than were grouped.
    const cause = causes.find((each) => each.class === group)
    const title = `${counts[group]} refused: ${cause?.guess ?? ''}`
    return cause === undefined ? [] : { what: 'refused', title, group, text: cause.why, since: cause.since }
  })
  const isWithLetters = stats.store === 'up' && stats.deadLetters !== 0
  const dead = (isWithLetters ? await letters.groups(rights) : []).map(
    ({ id: group, cause: text, count, since }): Attention => {
      return { what: 'dead-letters', title: several(count, 'dead letter'), group, text, count, since }
    },
  )
  const overdueMs = watcher.overdueSince(nowMs - OVERDUE_WITHIN_MS)
  const overdue = overdueMs.slice(0, 1).map((firstMs): Attention => {
    const title = `${several(overdueMs.length, 'send')} overdue`
    return { what: 'overdue', title, since: isoOf(firstMs), text: 'No final report came in time.' }
  })
  const backlog: readonly Attention[] = isOld
    ? [
        {
          what: 'backlog',
          title: `Backlog: ${several(stats.unsettled ?? 0, 'event')} waiting`,
          since: isoOf(nowMs - (health.oldestDueMs ?? 0)),
          text: isOld.text,
        },
      ]
    : []
  return [...ill, ...refused, ...dead.slice(0, MOST_CAUSES), ...overdue, ...backlog]
}

function several(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}
