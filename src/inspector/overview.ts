/** The state of the receiver in one answer, problems first, from its existing counts and its health. */
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Receiver, ReceiverStats } from '../receiver/surface.ts'
import { createReading } from '../runtime/concurrency.ts'
import { HEALTH_REASONS, type ReceiverHealth } from '../operations/health.ts'
import { createHistory, createWatcher, type Range, type Watcher } from '../operations/recent.ts'
import type { Letters } from './dead-letters.ts'
import type { Inspection } from '../receiver/inspection.ts'
import type { Rights } from './options.ts'
import type { Kept } from './quarantine.ts'
import { dateOf } from './rows.ts'

/** The part of a receiver that the inspector uses. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'deadLetters'>

export type Looking = ReturnType<typeof startLooking>

const LOOKED_AT = new WeakMap<Inspection, Looking>()
const FRESH_MS = 1_000

/** The observations of one receiver, shared by all inspectors that are mounted on it. */
export function lookAt(receiver: InspectedReceiver, inspection: Inspection): Looking {
  const looking = LOOKED_AT.get(inspection) ?? startLooking(receiver, inspection)
  LOOKED_AT.set(inspection, looking)
  return looking
}

/** Starts observing, until the receiver closes. */
function startLooking(receiver: InspectedReceiver, inspection: Inspection) {
  const { clock, counts, secrets } = inspection
  const watcher = createWatcher(() => clock.now(), secrets)
  const history = createHistory(clock, counts, watcher.counts)
  const stopWatching = inspection.watch(watcher)
  inspection.onClosing(() => {
    stopWatching()
    history.stop()
  })
  /** The current state, at most a second old, so that one query of the store serves all open pages. */
  const { get: read } = createReading(clock, FRESH_MS, async () => {
    const [stats, health] = await Promise.all([receiver.stats(), receiver.health()])
    return { stats, health }
  })
  /** When this process first saw each reason for bad health. */
  const illSince = new Map<string, number>()
  return { receiver, inspection, watcher, history, read, illSince }
}

/** A problem that requires action. */
interface Attention {
  readonly what: 'health' | 'refused' | 'dead-letters' | 'overdue' | 'backlog'
  /** Such as `14 refused: wrong secret?`. */
  readonly title: string
  readonly since: Date
  /** A sentence, the error, or the sentence of the refusal's code. */
  readonly text: string
  /** For dead letters: their number, and the group, as `error` of api/dead-letters. For refusals: the class. */
  readonly count?: number
  readonly group?: string
}

/** GET api/overview?range. */
export async function overview(range: Range, rights: Rights, looking: Looking, letters: Letters, kept: Kept) {
  const { receiver, inspection, watcher, history, read } = looking
  const { stats, health } = await read()
  const plot = history.plot(range)
  const rangeBeganMs = inspection.clock.now() - plot.buckets.length * plot.bucketSeconds * 1_000
  return {
    since: new Date(history.sinceMs),
    /** The most serious first. */
    attention: [
      ...illnesses(stats, health, looking),
      ...(await refusals(receiver, kept)),
      ...(stats.store === 'up' && stats.deadLetters !== 0 ? await failures(rights, letters) : []),
      ...delays(stats, health, looking),
    ],
    stats,
    oldestDueMs: health.oldestDueMs,
    quarantined: receiver.quarantine.size,
    carriers: carriersOf(inspection, watcher),
    /** Events of this process that were settled without a handler, by type. */
    unhandled: Array.from(inspection.unhandled, ([name, count]) => ({ name, count, last: undefined })),
    plot: { ...plot, handlerP95Ms: watcher.attemptP95Ms(rangeBeganMs) },
  }
}

/** Carriers and channels with events, and the last report of each. */
function carriersOf({ counts }: Inspection, watcher: Watcher) {
  const all = new Map<string, number>()
  for (const carriers of Object.values(counts.events))
    for (const [name, count] of Object.entries(carriers))
      if (name !== 'none' && count > 0) all.set(name, (all.get(name) ?? 0) + count)
  return [...all].map(([name, count]) => ({ name, count, last: dateOf(watcher.carriers.get(name)) }))
}

/** The page shows this reason as a backlog, not as bad health. */
const BACKLOG = 'backlog_old'

function illnesses(
  { spooled }: ReceiverStats,
  { reasons }: ReceiverHealth,
  { illSince, inspection }: Looking,
): readonly Attention[] {
  const ill = reasons.filter(({ code }) => code !== BACKLOG && HEALTH_REASONS[code][0].length > 0)
  for (const code of illSince.keys()) if (!ill.some((reason) => reason.code === code)) illSince.delete(code)
  return ill.map(({ code, text }) => {
    const sinceMs = illSince.get(code) ?? inspection.clock.now()
    illSince.set(code, sinceMs)
    const isUnavailable = code === 'store_away' || code === 'nowhere_to_keep'
    const waiting = isUnavailable && spooled > 0 ? `: ${several(spooled, 'callback')} in the spool` : ''
    const title = isUnavailable ? `Store unavailable${waiting}` : 'Not healthy'
    return { what: 'health', title, text, since: new Date(sinceMs) }
  })
}

/** The largest cause of each class. The count may exceed that of the cause, because not all requests are grouped. */
async function refusals({ quarantine }: InspectedReceiver, kept: Kept): Promise<readonly Attention[]> {
  const causes = await kept.groups()
  const counts = quarantine.counts()
  return QUARANTINE_CLASSES.filter((name) => name !== 'rest').flatMap((group): Attention | readonly [] => {
    const cause = causes.find((each) => each.class === group)
    if (cause === undefined) return []
    const title = `${grouped.format(counts[group])} refused: ${cause.guess}`
    return { what: 'refused', title, group, text: cause.why, since: cause.since }
  })
}

const MAX_CAUSES = 5

async function failures(rights: Rights, letters: Letters): Promise<readonly Attention[]> {
  const groups = (await letters.groups(rights)).slice(0, MAX_CAUSES)
  return groups.map(({ id: group, cause: text, count, since }) => {
    return { what: 'dead-letters', title: several(count, 'dead letter'), group, text, count, since }
  })
}

const OVERDUE_WITHIN_MS = 3_600_000

function delays(
  { unsettled = 0 }: ReceiverStats,
  health: ReceiverHealth,
  { inspection, watcher }: Looking,
): readonly Attention[] {
  const nowMs = inspection.clock.now()
  const overdueMs = watcher.overdueSince(nowMs - OVERDUE_WITHIN_MS)
  const overdue = overdueMs.slice(0, 1).map((firstMs): Attention => {
    const title = `${several(overdueMs.length, 'send')} overdue`
    return { what: 'overdue', title, since: new Date(firstMs), text: 'No final report came in time.' }
  })
  const backlog = health.reasons
    .filter(({ code }) => code === BACKLOG)
    .map(({ text }): Attention => {
      const title = `Backlog: ${several(unsettled, 'event')} waiting`
      return { what: 'backlog', title, since: new Date(nowMs - (health.oldestDueMs ?? 0)), text }
    })
  return [...overdue, ...backlog]
}

const grouped = new Intl.NumberFormat('en')

function several(count: number, one: string): string {
  return `${grouped.format(count)} ${one}${count === 1 ? '' : 's'}`
}
