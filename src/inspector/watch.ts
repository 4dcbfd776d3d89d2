/**
 * What is remembered of this process since the inspector was mounted. On an event's way it writes into rings of a fixed size;
 * whatever takes longer is done where something went wrong, or where somebody asks.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/work.ts'
import type { Clock } from '../runtime/clock.ts'
import type { DetailedCounts } from '../operations/counts.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { failureText } from '../runtime/failure-text.ts'
import { recordOf } from '../runtime/record-of.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'
import type { AttemptRow, Bucket, Change, Overview, Range } from './shapes.ts'

/** The last of each are remembered. */
const ATTEMPTS_KEPT = 4_096
const ODD_KEPT = 4_096
const CHANGES_KEPT = 256
const LONGEST_ERROR = 2_048
const MOST_TOLD = 100
const OVERDUE_KEPT = 1_024
const PROJECTS_KEPT = 32
const PERCENTILE = 0.95

export interface Watcher {
  taken(event: NewEvent, admission: Admission): void
  attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void
  /** What this process saw of the attempts at an event, the first first. */
  attemptsOf(eventId: string): readonly AttemptRow[]
  /** When it came again, the first first. */
  duplicatesOf(eventId: string): readonly number[]
  /** It was late as it came. */
  wasLate(eventId: string): boolean
  /** Some of the projects of what came: a receiver whose credentials are a function knows no names before. */
  readonly projects: readonly string[]
  /** When the last report of each carrier came. */
  lastByCarrier(): Readonly<Record<string, string>>
  /** How many attempts there were, and how many of them failed. */
  readonly attempts: number
  readonly failures: number
  /** When messages became overdue, since then, of which no final report has come to this process; the first first. */
  overdueSince(ms: number): readonly number[]
  /** The 95th percentile of the attempts since then; undefined where there is none. */
  attemptP95Ms(sinceMs: number): number | undefined
  /** A place in what changes; it goes on with each change. */
  readonly place: number
  changesSince(place: number): Pick<Change, 'events' | 'messages' | 'many'>
}

/** Of an attempt that had more than one handler, or did not succeed. */
type Details = Pick<AttemptRow, 'handlers' | 'error'>

interface SeenAttempt {
  readonly id: string
  readonly number: number
  readonly begunAtMs: number
  readonly endedAtMs: number
  readonly outcome: AttemptOutcome
  readonly replay: boolean
  readonly handler: string | undefined
  readonly details: Details | undefined
}

interface Ring<T> {
  push(item: T): void
  /** Of all that ever came. */
  readonly count: number
  /** The last of them, the oldest first. */
  items(): readonly T[]
}

function createRing<T>(size: number): Ring<T> {
  const kept: T[] = []
  let count = 0
  return {
    push(item) {
      kept[count % size] = item
      count += 1
    },
    get count() {
      return count
    },
    items: () => (count <= size ? kept : [...kept.slice(count % size), ...kept.slice(0, count % size)]),
  }
}

/** `secrets`: keys, which no error text may keep. */
export function createWatcher(nowMs: () => number, secrets: () => readonly string[]): Watcher {
  const attempts = createRing<SeenAttempt>(ATTEMPTS_KEPT)
  /** Repetitions and late ones: there are few. */
  const odd = createRing<{ readonly id: string; readonly atMs: number; readonly isLate: boolean }>(ODD_KEPT)
  const changes = createRing<{ readonly id: string; readonly messageId: string | undefined }>(CHANGES_KEPT)
  const carriers = new Map<string, number>()
  const projects = new Set<string>()
  let lastProject: string | undefined
  const overdueAtMs = new Map<string, number>()
  let failures = 0

  return {
    taken({ id, messageKey, final, record: { report, project, receivedAtMs } }, admission) {
      if (final && overdueAtMs.size > 0) overdueAtMs.delete(messageKey)
      // Mostly it is the one of the event before.
      if (project !== lastProject && project !== undefined && projects.size < PROJECTS_KEPT) projects.add(project)
      lastProject = project
      changes.push({ id, messageId: report?.messageId })
      if (admission === 'duplicate' || admission === 'late')
        odd.push({ id, atMs: nowMs(), isLate: admission === 'late' })
      if (report?.carrier !== undefined) carriers.set(report.carrier, receivedAtMs)
    },
    attempted(attempt, outcome, endedAtMs) {
      const { work, registrations } = attempt
      const { id, attempt: number, replay, record, expected } = work.claim
      const { begunAtMs } = work
      changes.push({ id, messageId: record.report?.messageId ?? expected?.expectation.messageId })
      if (record.overdue === true && number === 1 && !replay) {
        overdueAtMs.set(work.claim.messageKey, endedAtMs)
        const [oldest] = overdueAtMs.keys()
        if (overdueAtMs.size > OVERDUE_KEPT && oldest !== undefined) overdueAtMs.delete(oldest)
      }
      const isPlain = outcome === 'succeeded' && registrations.length <= 1
      const details = isPlain ? undefined : detailsOf(attempt, outcome, endedAtMs, secrets())
      const handler = registrations[0]?.name
      attempts.push({ id, number, begunAtMs, endedAtMs, outcome, replay, handler, details })
      if (outcome !== 'succeeded') failures += 1
    },
    attemptsOf: (eventId) => attempts.items().flatMap((seen) => (seen.id === eventId ? [attemptRow(seen)] : [])),
    duplicatesOf: (eventId) => odd.items().flatMap(({ id, atMs, isLate }) => (id === eventId && !isLate ? [atMs] : [])),
    wasLate: (eventId) => odd.items().some(({ id, isLate }) => id === eventId && isLate),
    lastByCarrier: () => Object.fromEntries([...carriers].map(([name, ms]) => [name, new Date(ms).toISOString()])),
    get projects() {
      return [...projects]
    },
    get attempts() {
      return attempts.count
    },
    get failures() {
      return failures
    },
    overdueSince: (ms) => [...overdueAtMs.values()].filter((at) => at >= ms),
    attemptP95Ms(sinceMs) {
      const recent = attempts.items().filter(({ endedAtMs }) => endedAtMs >= sinceMs)
      const tookMs = recent.map(({ begunAtMs, endedAtMs }) => endedAtMs - begunAtMs).sort((a, b) => a - b)
      return tookMs[Math.ceil(tookMs.length * PERCENTILE) - 1]
    },
    get place() {
      return changes.count
    },
    changesSince(place) {
      const since = changes.count - place
      const told = since === 0 ? [] : changes.items().slice(-Math.min(since, MOST_TOLD))
      return {
        events: [...new Set(told.map(({ id }) => id))],
        messages: [...new Set(told.flatMap(({ messageId }) => messageId ?? []))],
        many: since > MOST_TOLD,
      }
    },
  }
}

function attemptRow({ number, begunAtMs, endedAtMs, outcome, replay, handler, details }: SeenAttempt): AttemptRow {
  const durationMs = endedAtMs - begunAtMs
  const only = handler === undefined ? [] : [{ name: handler, durationMs, outcome: 'succeeded' } as const]
  return {
    number,
    startedAt: new Date(begunAtMs).toISOString(),
    durationMs,
    outcome: outcome === 'succeeded' || outcome === 'lost' ? outcome : 'failed',
    ...(replay && { replay }),
    ...(details ?? { handlers: only }),
  }
}

/** Each handler that was called; one that has succeeded before was not. */
function detailsOf(
  { work, registrations, done, before, stamps, thrown }: AttemptSeen,
  outcome: AttemptOutcome,
  endedAtMs: number,
  secrets: readonly string[],
): Details {
  const called = registrations.filter((registration) => !before.includes(registration))
  const errors = thrown.map((error) => failureText(error, secrets, LONGEST_ERROR))
  let nextError = 0
  let begunAtMs = work.begunAtMs
  const handlers: AttemptRow['handlers'][number][] = []
  for (const [index, registration] of called.entries()) {
    const isDone = done.includes(registration)
    // The one that hangs has not ended, and those that follow it were not called.
    const ended = stamps === undefined && outcome !== 'timed out' ? endedAtMs : stamps?.[index]
    const hasHung = ended === undefined && outcome === 'timed out'
    if (ended === undefined && !hasHung) break
    const error = isDone || hasHung ? undefined : errors[nextError]
    if (error !== undefined) nextError += 1
    handlers.push({
      name: registration.name,
      durationMs: (ended ?? endedAtMs) - begunAtMs,
      outcome: isDone ? 'succeeded' : hasHung ? 'timed out' : 'failed',
      ...(error !== undefined && { error }),
    })
    if (ended === undefined) break
    begunAtMs = ended
  }
  return { handlers, ...(errors[0] !== undefined && { error: errors[0] }) }
}

const BUCKET_SECONDS = 20
/** An hour of these, and a day of the wide ones. */
const MOST_BUCKETS = 180
const A_WIDE_BUCKET = 24
const BUCKETS_OF_15_MIN = 45
const MOST_TROUBLES = 50

export const RANGES = ['15m', '1h', '24h'] as const satisfies readonly Range[]

const SERIES = ['new', 'duplicate', 'late', 'refused', 'failed', 'attempts'] as const
type Totals = Omit<Bucket, 'at'>

/** What came over time, from counts that are kept anyway, so that nothing is done for it on an event's way; and what went wrong. */
export interface History {
  readonly sinceMs: number
  plot(range: Range): Omit<Overview['plot'], 'handlerP95Ms'>
  trouble(): Overview['trouble']
  /** Hears what the receiver reports. */
  troubled(error: MessagingWebhooksError): void
  stop(): void
}

/** `attempts`: how many there were so far, and how many of them failed. */
export function createHistory(
  clock: Clock,
  counts: DetailedCounts,
  attempts: () => { readonly attempts: number; readonly failures: number },
): History {
  const sinceMs = clock.now()
  const narrow = createBuckets(totals, clock)
  const wide = createBuckets(totals, clock)
  const troubles = new Map<string, { readonly atMs: number; readonly message: string; readonly count: number }>()
  let turns = 0
  let cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)

  function totals(): Totals {
    const { attempts: made, failures } = attempts()
    const kinds = Object.values(counts.kinds)
    const sumOf = (countOf: (kind: (typeof kinds)[number]) => number): number =>
      kinds.reduce((sum, kind) => sum + countOf(kind), 0)
    return {
      new: sumOf((kind) => kind.new),
      duplicate: sumOf((kind) => kind.duplicate),
      late: sumOf((kind) => kind.late),
      refused: sumOf(({ refused }) => Object.values(refused).reduce((sum, count) => sum + count, 0)),
      failed: failures,
      attempts: made,
    }
  }

  function turn(): void {
    turns += 1
    narrow.turn()
    if (turns % A_WIDE_BUCKET === 0) wide.turn()
    cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)
  }

  return {
    sinceMs,
    plot(range) {
      const all = range === '24h' ? wide.all() : narrow.all()
      const buckets = range === '15m' ? all.slice(-BUCKETS_OF_15_MIN) : all
      return { range, bucketSeconds: BUCKET_SECONDS * (range === '24h' ? A_WIDE_BUCKET : 1), buckets }
    },
    trouble: () =>
      [...troubles]
        .map(([code, { atMs, message, count }]) => ({ at: new Date(atMs).toISOString(), code, message, count }))
        .reverse(),
    troubled({ code, message }) {
      const count = (troubles.get(code)?.count ?? 0) + 1
      // The newest stands last.
      troubles.delete(code)
      troubles.set(code, { atMs: clock.now(), message, count })
      const [oldest] = troubles.keys()
      if (troubles.size > MOST_TROUBLES && oldest !== undefined) troubles.delete(oldest)
    },
    stop: () => cancel(),
  }
}

/** How totals went on; the last bucket is the one of now. */
function createBuckets(totals: () => Totals, clock: Clock): { turn(): void; all(): readonly Bucket[] } {
  const buckets: Bucket[] = []
  let beganMs = clock.now()
  let before = totals()

  function current(): Bucket {
    const now = totals()
    return { at: new Date(beganMs).toISOString(), ...recordOf(SERIES, (name) => now[name] - before[name]) }
  }

  return {
    turn() {
      buckets.push(current())
      if (buckets.length >= MOST_BUCKETS) buckets.shift()
      before = totals()
      beganMs = clock.now()
    },
    all: () => [...buckets, current()],
  }
}
