/**
 * The recent attempts, duplicates and overdue messages of this process, recorded while an inspector observes. The event path
 * writes only into ring buffers of fixed size; slower work is done on failures and on request.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/work.ts'
import { failureText } from '../runtime/failure-text.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'

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

interface HandlerCall {
  readonly name: string
  readonly durationMs: number
  readonly outcome: 'succeeded' | 'failed' | 'timed out'
  readonly error?: string | undefined
}

export type Watcher = ReturnType<typeof createWatcher>

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
  const attempts = createRing<{ readonly id: string; readonly endedAtMs: number; readonly attempt: Attempt }>(
    ATTEMPTS_KEPT,
  )
  /** Duplicates and late events, which are rare. */
  const odd = createRing<{ readonly id: string; readonly atMs: number; readonly isLate: boolean }>(ODD_KEPT)
  const carriers = new Map<string, number>()
  const projects = new Set<string>()
  const overdueAtMs = new Map<string, number>()
  /** Counts of attempts, failed attempts, and changes of any kind. */
  const counts = { attempts: 0, failures: 0, changes: 0 }

  return {
    counts,
    accepted(
      { id, messageKey, final, record: { report, project, receivedAtMs } }: NewEvent,
      admission: Admission,
    ): void {
      if (final && overdueAtMs.size > 0) overdueAtMs.delete(messageKey)
      if (project !== undefined && projects.size < PROJECTS_KEPT) projects.add(project)
      counts.changes += 1
      if (admission === 'duplicate' || admission === 'late')
        odd.push({ id, atMs: nowMs(), isLate: admission === 'late' })
      if (report?.carrier !== undefined) carriers.set(report.carrier, receivedAtMs)
    },
    attempted(attempt: AttemptSeen, outcome: AttemptOutcome, endedAtMs: number): void {
      const { id, attempt: number, replay, record, messageKey } = attempt.work.claim
      const { begunAtMs } = attempt.work
      counts.changes += 1
      counts.attempts += 1
      if (outcome !== 'succeeded') counts.failures += 1
      if (record.overdue === true && number === 1 && !replay) {
        overdueAtMs.set(messageKey, endedAtMs)
        const [oldest] = overdueAtMs.keys()
        if (overdueAtMs.size > OVERDUE_KEPT && oldest !== undefined) overdueAtMs.delete(oldest)
      }
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
      attempts.push({ id, endedAtMs, attempt: seen })
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
    overdueSince: (ms: number): readonly number[] => [...overdueAtMs.values()].filter((at) => at >= ms),
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
