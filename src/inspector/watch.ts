/**
 * What is remembered of this process since the inspector was mounted. On an event's way it writes into rings that are made once;
 * whatever takes longer is done where something went wrong, or where somebody asks.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/work.ts'
import type { Clock } from '../runtime/clock.ts'
import type { DetailedCounts } from '../operations/counts.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { failureText } from '../runtime/failure-text.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'
import type { AttemptRow, Bucket, Change, Overview, Range } from './shapes.ts'

/** The last of each are remembered. */
const ATTEMPTS_KEPT = 4_096
const ODD_KEPT = 4_096
const CHANGES_KEPT = 256
/** A sender chooses their names. */
const CHANNELS_KEPT = 32
const OTHER_CHANNELS = 'other'
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
  byChannel(): Readonly<Record<string, number>>
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

/** `secrets`: keys, which no error text may keep. */
export function createWatcher(nowMs: () => number, secrets: () => readonly string[]): Watcher {
  const attempts = {
    count: 0,
    ids: texts(ATTEMPTS_KEPT),
    numbers: new Uint32Array(ATTEMPTS_KEPT),
    begunAtMs: new Float64Array(ATTEMPTS_KEPT),
    endedAtMs: new Float64Array(ATTEMPTS_KEPT),
    outcomes: Array.from({ length: ATTEMPTS_KEPT }, (): AttemptOutcome => 'succeeded'),
    replays: new Uint8Array(ATTEMPTS_KEPT),
    handlers: texts(ATTEMPTS_KEPT),
    details: Array.from({ length: ATTEMPTS_KEPT }, (): Details | undefined => undefined),
  }
  /** Repetitions and late ones: there are few. */
  const odd = { count: 0, ids: texts(ODD_KEPT), atMs: new Float64Array(ODD_KEPT), isLate: new Uint8Array(ODD_KEPT) }
  const changes = { count: 0, ids: texts(CHANGES_KEPT), messages: texts(CHANGES_KEPT) }
  const channels = new Map<string, number>()
  const carriers = new Map<string, number>()
  const projects = new Set<string>()
  let lastProject: string | undefined
  const overdueAtMs = new Map<string, number>()
  let failures = 0

  function changed(id: string, messageId: string | undefined): void {
    const at = changes.count % CHANGES_KEPT
    changes.count += 1
    changes.ids[at] = id
    changes.messages[at] = messageId ?? ''
  }

  function countChannel(given: string): void {
    const name = channels.has(given) || channels.size < CHANNELS_KEPT ? given : OTHER_CHANNELS
    channels.set(name, (channels.get(name) ?? 0) + 1)
  }

  return {
    taken({ id, messageKey, final, record: { report, project, receivedAtMs } }, admission) {
      if (final && overdueAtMs.size > 0) overdueAtMs.delete(messageKey)
      // Mostly it is the one of the event before.
      if (project !== lastProject && project !== undefined && projects.size < PROJECTS_KEPT) projects.add(project)
      lastProject = project
      changed(id, report?.messageId)
      if (admission === 'duplicate' || admission === 'late') {
        const at = odd.count % ODD_KEPT
        odd.count += 1
        odd.ids[at] = id
        odd.atMs[at] = nowMs()
        odd.isLate[at] = admission === 'late' ? 1 : 0
      }
      if (admission !== 'duplicate' && report?.channel !== undefined) countChannel(report.channel)
      if (report?.carrier !== undefined) carriers.set(report.carrier, receivedAtMs)
    },
    attempted(attempt, outcome, endedAtMs) {
      const { work, registrations } = attempt
      const { id, attempt: number, replay, record, expected } = work.claim
      changed(id, record.report?.messageId ?? expected?.expectation.messageId)
      if (record.overdue === true && number === 1 && !replay) {
        overdueAtMs.set(work.claim.messageKey, endedAtMs)
        const [oldest] = overdueAtMs.keys()
        if (overdueAtMs.size > OVERDUE_KEPT && oldest !== undefined) overdueAtMs.delete(oldest)
      }
      const at = attempts.count % ATTEMPTS_KEPT
      attempts.count += 1
      attempts.ids[at] = id
      attempts.numbers[at] = number
      attempts.begunAtMs[at] = work.begunAtMs
      attempts.endedAtMs[at] = endedAtMs
      attempts.outcomes[at] = outcome
      attempts.replays[at] = replay ? 1 : 0
      attempts.handlers[at] = registrations[0]?.name ?? ''
      const isPlain = outcome === 'succeeded' && registrations.length <= 1
      attempts.details[at] = isPlain ? undefined : detailsOf(attempt, outcome, endedAtMs, secrets())
      if (outcome !== 'succeeded') failures += 1
    },
    attemptsOf(eventId) {
      return placesOf(attempts.ids, eventId, attempts.count).map((at): AttemptRow => {
        const [begun, ended] = [attempts.begunAtMs[at] ?? 0, attempts.endedAtMs[at] ?? 0]
        const outcome = attempts.outcomes[at]
        const name = attempts.handlers[at] ?? ''
        const durationMs = ended - begun
        return {
          number: attempts.numbers[at] ?? 0,
          startedAt: new Date(begun).toISOString(),
          durationMs,
          outcome: outcome === 'succeeded' || outcome === 'lost' ? outcome : 'failed',
          ...(attempts.replays[at] === 1 && { replay: true }),
          ...(attempts.details[at] ?? { handlers: name === '' ? [] : [{ name, durationMs, outcome: 'succeeded' }] }),
        }
      })
    },
    duplicatesOf: (eventId) =>
      placesOf(odd.ids, eventId, odd.count).flatMap((at) => (odd.isLate[at] === 1 ? [] : [odd.atMs[at] ?? 0])),
    wasLate: (eventId) => placesOf(odd.ids, eventId, odd.count).some((at) => odd.isLate[at] === 1),
    byChannel: () => Object.fromEntries(channels),
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
      const tookMs: number[] = []
      for (let at = 0; at < Math.min(attempts.count, ATTEMPTS_KEPT); at += 1) {
        const endedAtMs = attempts.endedAtMs[at] ?? 0
        if (endedAtMs >= sinceMs) tookMs.push(endedAtMs - (attempts.begunAtMs[at] ?? 0))
      }
      return tookMs.sort((a, b) => a - b)[Math.ceil(tookMs.length * PERCENTILE) - 1]
    },
    get place() {
      return changes.count
    },
    changesSince(place) {
      const told = Math.min(changes.count - place, MOST_TOLD)
      const places = Array.from({ length: told }, (_, index) => (changes.count - told + index) % CHANGES_KEPT)
      const messages = places.map((at) => changes.messages[at] ?? '').filter((id) => id !== '')
      return {
        events: [...new Set(places.map((at) => changes.ids[at] ?? ''))],
        messages: [...new Set(messages)],
        many: changes.count - place > MOST_TOLD,
      }
    },
  }
}

function texts(length: number): string[] {
  return Array.from({ length }, () => '')
}

/** Where it stands in a ring, the oldest first. */
function placesOf(ids: readonly string[], id: string, count: number): readonly number[] {
  const first = Math.max(count - ids.length, 0)
  const places = Array.from({ length: count - first }, (_, index) => (first + index) % ids.length)
  return places.filter((at) => ids[at] === id)
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
    const sum = { new: 0, duplicate: 0, late: 0, refused: 0, failed: failures, attempts: made }
    for (const { new: accepted, duplicate, late, refused } of Object.values(counts.kinds)) {
      sum.new += accepted
      sum.duplicate += duplicate
      sum.late += late
      for (const count of Object.values(refused)) sum.refused += count
    }
    return sum
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
    return {
      at: new Date(beganMs).toISOString(),
      new: now.new - before.new,
      duplicate: now.duplicate - before.duplicate,
      late: now.late - before.late,
      refused: now.refused - before.refused,
      failed: now.failed - before.failed,
      attempts: now.attempts - before.attempts,
    }
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
