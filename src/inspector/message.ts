/** A message's timeline: its reports in their order and by arrival, and why the order is what it is. */
import { inOrder } from '../dispatch/listed-events.ts'
import { messageState } from '../inbox/latest.ts'
import { knownTime, placeOf } from '../inbox/order.ts'
import type { EventRecord, Report } from '../inbox/record.ts'
import type { StoredEvent } from '../inbox/store.ts'
import { Refused } from './answer.ts'
import { attemptsOf } from './attempts.ts'
import type { Finding } from './finding.ts'
import type { Looking } from './looking.ts'
import { shownRecipient, withoutPhones } from './masking.ts'
import type { Rights } from './rights.ts'
import { failureIn, rowOf } from './rows.ts'
import { sentDetail, withOverdue } from './sent.ts'
import type { MessageDetail, TimelineEntry } from './shapes.ts'

/** GET api/messages/:messageId. */
export async function showMessage(
  messageId: string,
  project: string | undefined,
  rights: Rights,
  { looking, finding }: { readonly looking: Looking; readonly finding: Finding },
): Promise<MessageDetail> {
  const found = await finding.ofMessage(messageId, project)
  if (found === undefined)
    throw new Refused(404, 'message_unknown', 'Nothing is known of a message with this id; search for a report of it.')
  const { inside } = looking
  const stored = await inside.latest(found.messageKey)
  const latest = stored && messageState(stored)
  const events = inOrder(found.sent === undefined ? found.events : withOverdue(found.events, found.sent))
  const arrivals = byArrival(events)
  const { expectation } = found.sent ?? {}
  const recipients = [...events.map(({ record }) => record?.report?.recipient), expectation?.to]
  const recipient = recipients.find((known) => known !== undefined)
  const projects = [...events.map(({ record }) => record?.project), expectation?.project]
  const named = projects.find((known) => known !== undefined)
  const failure = failureIn(stored?.record, rights)
  return {
    messageId,
    ...(named !== undefined && { project: named }),
    ...(recipient !== undefined && { recipient: shownRecipient(recipient, rights) }),
    ...(latest && {
      latest: {
        type: latest.type,
        ...(latest.status !== undefined && {
          status: rights.reveal ? latest.status : withoutPhones(latest.status),
        }),
        ...(latest.statusCode !== undefined && { statusCode: latest.statusCode }),
        ...(latest.occurredAt && { occurredAt: latest.occurredAt.toISOString() }),
        ...(failure && { failure }),
      },
    }),
    finals: latest?.reports.length ?? 0,
    ...(found.sent && { sent: sentDetail(found.sent, rights) }),
    entries: events.map((event, index) => entryOf(event, { index, events, arrivals, looking, rights })),
  }
}

interface Around {
  readonly index: number
  readonly events: readonly StoredEvent[]
  readonly arrivals: readonly StoredEvent[]
  readonly looking: Looking
  readonly rights: Rights
}

function entryOf(stored: StoredEvent, around: Around): TimelineEntry {
  const { index, events, arrivals, looking, rights } = around
  const { inside, watcher } = looking
  const { id, record } = stored
  const late = stored.late ?? watcher.wasLate(id)
  const seconds = record && knownTime(record)
  const repeated = watcher.duplicatesOf(id)
  const gap = record?.report && gapOf(stored, record, record.report, around)
  return {
    event: { ...rowOf(stored, inside, rights), late },
    place: index + 1,
    arrival: arrivals.indexOf(stored) + 1,
    ...(record && { proof: record.proof }),
    ...(record && seconds !== undefined && { skewSeconds: Math.round(record.receivedAtMs / 1_000 - seconds) }),
    duplicates: repeated.length,
    duplicatesAt: repeated.map((ms) => new Date(ms).toISOString()),
    late,
    ...(gap && { gap }),
    why: whyThere(stored, { before: events[index - 1], late }),
    attempts: attemptsOf(stored, watcher, rights),
  }
}

function byArrival(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const arrivedAtMs = ({ record, atMs }: StoredEvent): number => record?.receivedAtMs ?? atMs ?? Infinity
  return events.toSorted((a, b) => arrivedAtMs(a) - arrivedAtMs(b))
}

const STEP_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'message.sent'],
  [2, 'message.delivered'],
])

/** Contract, service.md#delivery-rules: of a chat-app's message an earlier state may come after a later one, and is waited for. */
function gapOf(stored: StoredEvent, record: EventRecord, report: Report, around: Around): TimelineEntry['gap'] {
  const { awaits } = placeOf(stored.id, report, record)
  const missing = STEP_NAMES.get(awaits)
  if (missing === undefined) return undefined
  const { clock, gapTimeoutMs } = around.looking.inside
  const cameAtMs = around.events.flatMap(({ id, record: other }) =>
    other?.report !== undefined && placeOf(id, other.report, other).step === awaits ? [other.receivedAtMs] : [],
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

/** One sentence. */
function whyThere(
  { record }: StoredEvent,
  { before, late }: { readonly before: StoredEvent | undefined; readonly late: boolean },
): string {
  const { report, overdue } = record ?? {}
  if (overdue === true)
    return 'No end had been reported by its time, so the receiver made this event itself, once. It stands behind what had come by then.'
  if (record === undefined || report === undefined) return 'Only its identity is kept, so its place is not known.'
  if (late)
    return 'It is older than a report that had been handed over before it came: it is late, and was not handed over in its place.'
  if (report.shape === 'chat-app')
    return record.timestampSource === 'signature'
      ? 'Chat-app reports have no time of their own: they stand by their step in a message’s life, and then by the time of their signatures.'
      : 'Chat-app reports have no time of their own: they stand by their step in a message’s life.'
  const own = {
    payload: 'its own time',
    signature: 'the time of its signature',
    arrival: 'the time of its arrival',
    clock: 'the clock',
  }
  const time = own[record.timestampSource]
  if (before?.record === undefined) return `By ${time} it is the first that is known.`
  if (before.record.timestamp === record.timestamp)
    return 'It is of the same second as the one before it: then the step in a message’s life decides, and last the identity.'
  return `By ${time}, and not by when it came.`
}
