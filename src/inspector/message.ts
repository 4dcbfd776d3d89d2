/** The timeline of a message and the details of one event: the order of its reports, the reasons, and what the handlers did. */
import { inOrder } from '../dispatch/listed-events.ts'
import { encodeExpectation } from '../messages/expected.ts'
import { finalRecords, overdueIdentity, placeOf } from '../messages/order.ts'
import { reportState } from '../inbox/latest.ts'
import type { EventRecord, Report } from '../messages/event-record.ts'
import { latestOf, type StoredEvent, type StoredExpectation } from '../messages/views.ts'
import type { Finding, MessageName } from './events.ts'
import type { Looking } from './overview.ts'
import type { Kept } from './quarantine.ts'
import { attemptsOf, rowOf, sentOf } from './rows.ts'
import { ProblemError } from './server.ts'
import { PROBLEMS } from '../public/events.ts'

/** GET api/messages/:messageId?project. */
export async function showMessage(name: MessageName, looking: Looking, finding: Finding, kept: Kept) {
  const { inspection, watcher } = looking
  const found = (await finding.ofMessage(name)) ?? { events: [], sent: undefined, record: undefined }
  const [unrecognized, refused, resentAs] = await Promise.all([
    finding.unrecognizedOf(name, firstMsOf(found) - BEFORE_MS),
    kept.about(name.messageId),
    found.sent && finding.resentAs(found.sent),
  ])
  const own = found.sent === undefined ? found.events : withOverdue(found.events, found.sent)
  const events = inOrder([...own, ...unrecognized.filter(({ id }) => own.every((event) => event.id !== id))])
  if (events.length === 0 && found.sent === undefined && refused === undefined)
    throw new ProblemError(
      404,
      'message_unknown',
      'No report, send or refused request of a message with this id is stored.',
    )
  const stored = found.record && latestOf(found.record)
  const sent = found.sent && { ...sentOf(found.sent), resentAs }
  const arrivals = events.filter(hasPlace).toSorted((a, b) => arrivedAtMs(a) - arrivedAtMs(b))
  const entries = events.map((event, index) => {
    const { id, record } = event
    const late = event.late ?? watcher.wasLate(id)
    return {
      event: { ...rowOf(event, inspection.typeOf), late, messageId: name.messageId },
      /** Undefined for an event without a place in the order. */
      arrival: hasPlace(event) ? arrivals.indexOf(event) + 1 : undefined,
      duplicatesAt: watcher.duplicatesOf(id),
      gap: late ? undefined : record?.report && gapOf(id, record, record.report, events, looking),
      why: whyThere(event, events[index - 1], late),
      attempts: attemptsOf(event, watcher),
    }
  })
  return {
    messageId: name.messageId,
    project: entries.find(({ event }) => event.project !== undefined)?.event.project ?? sent?.project,
    recipient: entries.find(({ event }) => event.recipient !== undefined)?.event.recipient ?? sent?.to,
    latest: stored && reportState(stored.record),
    finals: finalRecords(stored?.finals ?? [], found.sent?.expectation.type).flatMap(
      ({ report }) => report?.type ?? [],
    ),
    sent,
    order: orderOf(events),
    entries,
    /** The refused requests that name the message. */
    refused,
  }
}

/** The carrier may send a word that cannot be read before the first report that can be. */
const BEFORE_MS = 86_400_000

/** When the store first heard of the message. 0 if it did not. */
function firstMsOf({
  events,
  sent,
}: {
  readonly events: readonly StoredEvent[]
  readonly sent: StoredExpectation | undefined
}): number {
  const firstMs = Math.min(sent?.expectation.sentAtMs ?? Infinity, ...events.map(({ atMs = Infinity }) => atMs))
  return firstMs === Infinity ? 0 : firstMs
}

/** An event that could not be read is not a report, so it has no place among the reports. */
function hasPlace({ record }: StoredEvent): boolean {
  return record?.problem === undefined
}

function arrivedAtMs({ record, atMs }: StoredEvent): number {
  return record?.receivedAtMs ?? atMs ?? Infinity
}

/** Rebuilds the content of `send.overdue` from the send if the store has only its identity. */
function withOverdue(
  events: readonly StoredEvent[],
  { messageKey, expectation }: StoredExpectation,
): readonly StoredEvent[] {
  const id = overdueIdentity(messageKey)
  const { project, sentAtMs, overdueAtMs = sentAtMs } = expectation
  const about = { project, kind: 'status', timestampSource: 'clock', proof: 'none', overdue: true } as const
  return events.map((event) => {
    if (event.id !== id || event.record !== undefined) return event
    // The receiver created the event between these two times.
    const receivedAtMs = Math.max(overdueAtMs, event.endedAtMs ?? 0)
    const record = { ...about, timestamp: Math.floor(overdueAtMs / 1_000), receivedAtMs }
    return { ...event, record, raw: encodeExpectation(expectation) }
  })
}

const STEP_NAMES: Readonly<Record<number, string>> = { 1: 'message.sent', 2: 'message.delivered' }

/**
 * Contract, service.md#delivery-rules: an earlier state of a chat-app message may arrive after a later one, which waits for it.
 */
function gapOf(
  id: string,
  record: EventRecord,
  report: Report,
  events: readonly StoredEvent[],
  { inspection: { clock, gapTimeoutMs } }: Looking,
) {
  const { awaits } = placeOf(id, report, record)
  const missing = STEP_NAMES[awaits]
  if (missing === undefined) return undefined
  const cameAtMs = events.flatMap((event) =>
    event.record?.report !== undefined && placeOf(event.id, event.record.report, event.record).step === awaits
      ? [event.record.receivedAtMs]
      : [],
  )
  const first = Math.min(Infinity, ...cameAtMs)
  if (first <= record.receivedAtMs) return undefined
  const waitedMs = Math.min(first, clock.now()) - record.receivedAtMs
  return {
    waitedForMs: Math.max(0, Math.min(waitedMs, gapTimeoutMs)),
    missing,
    filled: first - record.receivedAtMs <= gapTimeoutMs,
  }
}

/** Explains the order of all reports in one sentence. */
function orderOf(events: readonly StoredEvent[]): string | undefined {
  const reports = events.flatMap(({ record }) => record?.report ?? [])
  if (reports.length < 2) return undefined
  return reports.some(({ shape }) => shape === 'chat-app')
    ? 'Chat-app reports have no time of their own. They are ordered by step (sent, delivered, read), then by the time of their signature.'
    : 'Reports are ordered by their own time, not by arrival. Equal times are ordered by step.'
}

/** Explains the position of one event where `orderOf` does not. */
function whyThere({ record }: StoredEvent, before: StoredEvent | undefined, late: boolean): string | undefined {
  const { report, overdue, problem } = record ?? {}
  if (problem !== undefined) return `It could not be read, so it has no place in the order. ${PROBLEMS[problem][0]}`
  if (overdue === true) return 'No final report arrived by the deadline, so the receiver created this event, once.'
  if (record === undefined || report === undefined)
    return 'The store has only its idempotency key, so its place is unknown.'
  if (late) return 'Late: a newer report of this message was dispatched before this one arrived.'
  const isOfSameTime = before?.record?.report !== undefined && before.record.timestamp === record.timestamp
  if (report.shape !== 'chat-app' && isOfSameTime) return 'Same time as the report before it.'
  if (record.timestampSource === 'arrival') return 'It has no time of its own, so the time of its arrival counts.'
  return undefined
}

/** GET api/events/:id?of&project. */
export function showEvent(stored: StoredEvent, { inspection, watcher }: Looking) {
  const { record, raw } = stored
  const body = raw?.toString('utf8').replace(/^\uFEFF/, '')
  return {
    event: rowOf(stored, inspection.typeOf),
    payload: body,
    bytes: raw?.length,
    // The body of a synthetic event is only its stored send.
    curl: record?.proof === 'none' ? undefined : body,
    attempts: attemptsOf(stored, watcher),
    anomalies: record?.anomalies ?? [],
    problem: record?.problem && PROBLEMS[record.problem].join(' '),
  }
}
