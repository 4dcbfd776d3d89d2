/**
 * The recent attempts, duplicates and overdue messages of this process, recorded while an inspector observes, and callbacks over
 * time. The event path writes only into ring buffers of fixed size; slower work is done on failures and on request.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/work.ts'
import { failureText } from '../runtime/failure-text.ts'
import type { Admission } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { Clock } from '../runtime/clock.ts'
import { isFinal } from '../messages/order.ts'
import { recordOf } from '../runtime/values.ts'
import type { DetailedCounts } from './counts.ts'

const ATTEMPTS_KEPT = 4_096
const ODD_KEPT = 4_096
const LONGEST_ERROR = 2_048
const OVERDUE_KEPT = 1_024
const PROJECTS_KEPT = 32
const PERCENTILE = 0.95

/** An attempt, with the fields that this process observed or the store keeps. */
export interface Attempt {
  readonly number: number
  readonly startedAt?: Date
  readonly durationMs?: number
  /** `settled`: another process ended it. The store does not keep whether it succeeded or was discarded. */
  readonly outcome: 'running' | 'succeeded' | 'failed' | 'lost' | 'settled'
  readonly replay?: boolean
  readonly error?: string | undefined
  /** The handlers that this process called: the pattern of each, or the name of its function. */
  readonly handlers: readonly HandlerCall[]
}

interface SeenAttempt {
  readonly id: string
  readonly messageKey: string
  readonly endedAtMs: number
  readonly attempt: Attempt
}

interface HandlerCall {
  readonly name: string
  readonly durationMs: number
  readonly outcome: 'succeeded' | 'failed' | 'timed out'
  readonly error?: string | undefined
}

export type Watcher = ReturnType<typeof createWatcher>

function createRing<T>(size: number) {
  let kept: T[] = []
  let count = 0
  /** The last entries, oldest first. */
  function items(): readonly T[] {
    return count <= size ? kept : [...kept.slice(count % size), ...kept.slice(0, count % size)]
  }
  return {
    push(item: T): void {
      kept[count % size] = item
      count += 1
    },
    remove(isMeant: (item: T) => boolean): void {
      if (!kept.some(isMeant)) return
      kept = items().filter((item) => !isMeant(item))
      count = kept.length
    },
    items,
  }
}

/** `secrets`: keys to mask in error texts. */
export function createWatcher(nowMs: () => number, secrets: () => readonly string[]) {
  const attempts = createRing<SeenAttempt>(ATTEMPTS_KEPT)
  /** Duplicates and late events, which are rare. */
  const odd = createRing<{ readonly id: string; readonly atMs: number; readonly isLate: boolean }>(ODD_KEPT)
  const carriers = new Map<string, number>()
  const projects = new Set<string>()
  /** Overdue messages without a final report, by message key. */
  const overdue = new Map<string, { readonly atMs: number; readonly sendType: string | undefined }>()
  /** Counts of attempts, failed attempts, and changes of any kind. */
  const counts = { attempts: 0, failures: 0, changes: 0 }

  return {
    counts,
    accepted({ id, messageKey, record: { report, project, receivedAtMs } }: NewEvent, admission: Admission): void {
      const awaited = overdue.size > 0 ? overdue.get(messageKey) : undefined
      if (awaited !== undefined && report !== undefined && isFinal(report, awaited.sendType)) overdue.delete(messageKey)
      if (project !== undefined && projects.size < PROJECTS_KEPT) projects.add(project)
      counts.changes += 1
      if (admission === 'duplicate' || admission === 'late')
        odd.push({ id, atMs: nowMs(), isLate: admission === 'late' })
      if (report?.carrier !== undefined) carriers.set(report.carrier, receivedAtMs)
    },
    attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void {
      const { id, attempt: number, replay, record, messageKey, expected } = attempt.work.claim
      const { begunAtMs } = attempt.work
      counts.changes += 1
      if (record.overdue === true && number === 1 && !replay) {
        overdue.set(messageKey, { atMs: endedAtMs, sendType: expected?.expectation.type })
        const [oldest] = overdue.keys()
        if (overdue.size > OVERDUE_KEPT && oldest !== undefined) overdue.delete(oldest)
      }
      if (outcome === 'unhandled') return
      counts.attempts += 1
      if (outcome !== 'succeeded') counts.failures += 1
      // Errors may quote what is being erased.
      if (attempt.work.isForgotten) return
      const handlers = callsOf(attempt, outcome, endedAtMs, secrets())
      const seen: Attempt = {
        number,
        startedAt: new Date(begunAtMs),
        durationMs: endedAtMs - begunAtMs,
        outcome: outcome === 'timed out' ? 'failed' : outcome,
        replay,
        error: handlers.find(({ error }) => error !== undefined)?.error,
        handlers,
      }
      attempts.push({ id, messageKey, endedAtMs, attempt: seen })
    },
    /** Drops the attempts of erased events: their errors may quote a number. */
    forgotten(isMeant: (event: { readonly id: string; readonly messageKey: string }) => boolean): void {
      attempts.remove(isMeant)
    },
    /** The attempts of an event that this process observed, in order. */
    attemptsOf: (eventId: string): readonly Attempt[] =>
      attempts.items().flatMap(({ id, attempt }) => (id === eventId ? [attempt] : [])),
    /** The times at which duplicates of an event arrived, in order. */
    duplicatesOf: (eventId: string): readonly Date[] =>
      odd.items().flatMap(({ id, atMs, isLate }) => (id === eventId && !isLate ? [new Date(atMs)] : [])),
    /** Whether an event was late on arrival. */
    wasLate: (eventId: string): boolean => odd.items().some(({ id, isLate }) => id === eventId && isLate),
    /** The time of the last report of each carrier. */
    carriers: carriers as ReadonlyMap<string, number>,
    /** Project names seen so far: a receiver with a credentials function knows no names in advance. */
    projects: projects as ReadonlySet<string>,
    /** The times at which messages became overdue, in order. Excludes messages with a final report in this process. */
    overdueSince: (ms: number): readonly number[] =>
      [...overdue.values()].map(({ atMs }) => atMs).filter((at) => at >= ms),
    /** The 95th percentile of handler durations. Undefined without attempts. */
    attemptP95Ms(sinceMs: number): number | undefined {
      const recent = attempts.items().filter(({ endedAtMs }) => endedAtMs >= sinceMs)
      const tookMs = recent.map(({ attempt: { durationMs = 0 } }) => durationMs).sort((a, b) => a - b)
      return tookMs[Math.ceil(tookMs.length * PERCENTILE) - 1]
    },
  }
}

/** The handlers called in this attempt. Excludes handlers that succeeded in an earlier one. */
function callsOf(
  { work, registrations, done, before, stamps, thrown }: AttemptSeen,
  outcome: AttemptOutcome,
  endedAtMs: number,
  secrets: readonly string[],
): readonly HandlerCall[] {
  const errors = thrown.values()
  let begunAtMs = work.begunAtMs
  const calls: HandlerCall[] = []
  for (const [index, registration] of registrations.filter((each) => !before.includes(each)).entries()) {
    const isDone = done.includes(registration)
    // A handler that hangs has not ended, and later handlers were not called.
    const ended = stamps === undefined && outcome !== 'timed out' ? endedAtMs : stamps?.[index]
    const hasHung = ended === undefined && outcome === 'timed out'
    if (ended === undefined && !hasHung) break
    const durationMs = (ended ?? endedAtMs) - begunAtMs
    const failed = isDone || hasHung ? undefined : errors.next()
    const error = failed?.done === false ? failureText(failed.value, secrets, LONGEST_ERROR) : undefined
    calls.push({
      name: registration.name,
      durationMs,
      outcome: isDone ? 'succeeded' : hasHung ? 'timed out' : 'failed',
      error,
    })
    if (ended === undefined) break
    begunAtMs = ended
  }
  return calls
}

const BUCKET_SECONDS = 20
/** Buckets per bar of the day's chart. */
const WIDE = 24
const BUCKETS = { '15m': 45, '1h': 180, '24h': 4_320 } as const

const SERIES = ['new', 'duplicate', 'late', 'refused', 'failed', 'attempts'] as const

export type Range = keyof typeof BUCKETS

/** Callbacks over time. Derived from existing counts, so the event path does no extra work. */
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
    return { at: new Date(clock.now()), attempts, failed, ...sum }
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
