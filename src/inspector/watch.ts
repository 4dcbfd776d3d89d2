/**
 * What is remembered of this process since the inspector was mounted. On an event's way it writes into rings that are made once;
 * whatever takes longer is done where something went wrong, or where somebody asks.
 */
import type { AttemptOutcome, AttemptSeen } from '../dispatch/state.ts'
import { failureText } from '../failure-text.ts'
import type { Admission, NewEvent } from '../inbox/store.ts'
import type { AttemptRow, Change } from './shapes.ts'

/** The last of each are remembered. */
const ATTEMPTS_KEPT = 4_096
const ODD_KEPT = 4_096
const CHANGES_KEPT = 256
/** A sender chooses their names. */
const CHANNELS_KEPT = 32
const OTHER_CHANNELS = 'other'
const LONGEST_ERROR = 2_048
const MOST_TOLD = 100

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
  /** How many attempts have failed. */
  readonly failures: number
  /** How many messages became overdue. */
  readonly overdue: number
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
  let failures = 0
  let overdue = 0

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
    taken({ id, record: { report } }, admission) {
      changed(id, report?.messageId)
      if (admission === 'duplicate' || admission === 'late') {
        const at = odd.count % ODD_KEPT
        odd.count += 1
        odd.ids[at] = id
        odd.atMs[at] = nowMs()
        odd.isLate[at] = admission === 'late' ? 1 : 0
      }
      if (admission !== 'duplicate' && report?.channel !== undefined) countChannel(report.channel)
    },
    attempted(attempt, outcome, endedAtMs) {
      const { work, registrations } = attempt
      const { id, attempt: number, replay, record, expected } = work.claim
      changed(id, record.report?.messageId ?? expected?.expectation.messageId)
      if (record.overdue === true && number === 1 && !replay) overdue += 1
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
    get failures() {
      return failures
    },
    get overdue() {
      return overdue
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
