/**
 * What is remembered of this process since the inspector was mounted. The event path writes only into ring buffers of fixed
 * size; slower work is done on failures and on request.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/work.ts'
import type { Clock } from '../runtime/clock.ts'
import type { DetailedCounts } from '../operations/counts.ts'
import { failureText } from '../runtime/failure-text.ts'
import { recordOf } from '../runtime/record-of.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'

/** Number of entries remembered. */
const ATTEMPTS_KEPT = 4_096
const ODD_KEPT = 4_096
const LONGEST_ERROR = 2_048
const OVERDUE_KEPT = 1_024
const PROJECTS_KEPT = 32
const PERCENTILE = 0.95

/** An attempt, as far as this process observed it or the store keeps it. */
export interface Attempt {
  readonly number: number
  readonly startedAt?: string
  readonly durationMs?: number
  /** `settled`: by another process; whether it succeeded or was discarded is not kept. */
  readonly outcome: 'running' | 'succeeded' | 'failed' | 'lost' | 'settled'
  readonly replay?: boolean
  readonly error?: string | undefined
  /** The handlers that this process called: the pattern of each, or the name of its function. */
  readonly handlers: readonly {
    readonly name: string
    readonly durationMs: number
    readonly outcome: 'succeeded' | 'failed' | 'timed out'
    readonly error?: string
  }[]
}

/** What this process observed since the inspector was mounted. */
export type Watcher = ReturnType<typeof createWatcher>

/** An attempt with several handlers, or without success. */
type Details = Pick<Attempt, 'handlers' | 'error'>

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

function createRing<T>(size: number) {
  const kept: T[] = []
  let count = 0
  return {
    push(item: T): void {
      kept[count % size] = item
      count += 1
    },
    /** The last entries, oldest first. */
    items: (): readonly T[] => (count <= size ? kept : [...kept.slice(count % size), ...kept.slice(0, count % size)]),
  }
}

/** `secrets`: keys to mask in error texts. */
export function createWatcher(nowMs: () => number, secrets: () => readonly string[]) {
  const attempts = createRing<SeenAttempt>(ATTEMPTS_KEPT)
  /** Duplicates and late events, which are rare. */
  const odd = createRing<{ readonly id: string; readonly atMs: number; readonly isLate: boolean }>(ODD_KEPT)
  const carriers = new Map<string, number>()
  const projects = new Set<string>()
  const overdueAtMs = new Map<string, number>()
  /** Counts of attempts, failed attempts, and changes of any kind. */
  const counts = { attempts: 0, failures: 0, changes: 0 }

  return {
    counts,
    taken({ id, messageKey, final, record: { report, project, receivedAtMs } }: NewEvent, admission: Admission): void {
      if (final && overdueAtMs.size > 0) overdueAtMs.delete(messageKey)
      if (project !== undefined && projects.size < PROJECTS_KEPT) projects.add(project)
      counts.changes += 1
      if (admission === 'duplicate' || admission === 'late')
        odd.push({ id, atMs: nowMs(), isLate: admission === 'late' })
      if (report?.carrier !== undefined) carriers.set(report.carrier, receivedAtMs)
    },
    attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void {
      const { work, registrations } = attempt
      const { id, attempt: number, replay, record } = work.claim
      const { begunAtMs } = work
      counts.changes += 1
      counts.attempts += 1
      if (record.overdue === true && number === 1 && !replay) {
        overdueAtMs.set(work.claim.messageKey, endedAtMs)
        const [oldest] = overdueAtMs.keys()
        if (overdueAtMs.size > OVERDUE_KEPT && oldest !== undefined) overdueAtMs.delete(oldest)
      }
      const isPlain = outcome === 'succeeded' && registrations.length <= 1
      const details = isPlain ? undefined : detailsOf(attempt, outcome, endedAtMs, secrets())
      const handler = registrations[0]?.name
      attempts.push({ id, number, begunAtMs, endedAtMs, outcome, replay, handler, details })
      if (outcome !== 'succeeded') counts.failures += 1
    },
    /** The attempts of an event that this process observed, in order. */
    attemptsOf: (eventId: string): readonly Attempt[] =>
      attempts.items().flatMap((seen) => (seen.id === eventId ? [attemptRow(seen)] : [])),
    /** When duplicates of it arrived, in order. */
    duplicatesOf: (eventId: string): readonly number[] =>
      odd.items().flatMap(({ id, atMs, isLate }) => (id === eventId && !isLate ? [atMs] : [])),
    /** It was late on arrival. */
    wasLate: (eventId: string): boolean => odd.items().some(({ id, isLate }) => id === eventId && isLate),
    /** When the last report of each carrier arrived. */
    carriers: carriers as ReadonlyMap<string, number>,
    /** Project names seen so far: a receiver with a credentials function knows no names in advance. */
    projects: projects as ReadonlySet<string>,
    /** When messages became overdue that have had no final report in this process, in order. */
    overdueSince: (ms: number): readonly number[] => [...overdueAtMs.values()].filter((at) => at >= ms),
    /** The 95th percentile of handler durations. Undefined without attempts. */
    attemptP95Ms(sinceMs: number): number | undefined {
      const recent = attempts.items().filter(({ endedAtMs }) => endedAtMs >= sinceMs)
      const tookMs = recent.map(({ begunAtMs, endedAtMs }) => endedAtMs - begunAtMs).sort((a, b) => a - b)
      return tookMs[Math.ceil(tookMs.length * PERCENTILE) - 1]
    },
  }
}

function attemptRow({ number, begunAtMs, endedAtMs, outcome, replay, handler, details }: SeenAttempt): Attempt {
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

/** The handlers called in this attempt. Handlers that had succeeded before were not. */
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
  const handlers: Attempt['handlers'][number][] = []
  for (const [index, registration] of called.entries()) {
    const isDone = done.includes(registration)
    // The one that hangs has not ended, and those after it were not called.
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
/** Buckets per bar of the day's chart. */
const WIDE = 24
const BUCKETS = { '15m': 45, '1h': 180, '24h': 4_320 } as const

const SERIES = ['new', 'duplicate', 'late', 'refused', 'failed', 'attempts'] as const

/** Length of the chart. */
export type Range = keyof typeof BUCKETS
export type History = ReturnType<typeof createHistory>

/** Callbacks over time, from counts that are kept anyway, so the event path does nothing for it. */
export function createHistory(clock: Clock, counts: DetailedCounts, watched: Watcher['counts']) {
  const sinceMs = clock.now()
  /** Totals at the start of each bucket of the last day. The first bucket of a wide bar is at a multiple of `WIDE`. */
  const begins = [totals()]
  let cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)

  function totals() {
    const { attempts, failures: failed } = watched
    const sum = { new: 0, duplicate: 0, late: 0, refused: 0 }
    for (const kind of Object.values(counts.kinds)) {
      sum.new += kind.new
      sum.duplicate += kind.duplicate
      sum.late += kind.late
      for (const count of Object.values(kind.refused)) sum.refused += count
    }
    return { at: new Date(clock.now()).toISOString(), attempts, failed, ...sum }
  }

  function turn(): void {
    begins.push(totals())
    if (begins.length > BUCKETS['24h']) begins.splice(0, WIDE)
    cancel = clock.setTimer(turn, BUCKET_SECONDS * 1_000)
  }

  return {
    sinceMs,
    /** One bucket per `bucketSeconds`, oldest first, at most 181. */
    plot(range: Range) {
      const step = range === '24h' ? WIDE : 1
      const ends = [...begins.filter((_, index) => index % step === 0), totals()]
      const buckets = ends.slice(1).map((end, index) => {
        const begin = ends[index] ?? end
        return { at: begin.at, ...recordOf(SERIES, (name) => end[name] - begin[name]) }
      })
      return { range, bucketSeconds: BUCKET_SECONDS * step, buckets: buckets.slice(-BUCKETS[range]) }
    },
    stop: () => cancel(),
  }
}
