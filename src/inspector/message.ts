/** A message's timeline and one event of it: in which order reports came and why, how each was proved, what its handlers did. */
import { inOrder } from '../dispatch/listed-events.ts'
import { encodeExpectation } from '../messages/expected.ts'
import { knownTime, overdueIdentity, placeOf } from '../messages/order.ts'
import { messageState } from '../inbox/latest.ts'
import type { EventRecord, Report } from '../messages/event-record.ts'
import type { StoredEvent, StoredExpectation } from '../inbox/store.ts'
import type { Finding, MessageName } from './events.ts'
import { META, MOST_SHOWN_BYTES, shownBody, shownRecipient, shownText } from './masking.ts'
import type { Rights } from './options.ts'
import type { Looking } from './overview.ts'
import { attemptsOf, failureIn, isoOf, rowOf, sentDetail } from './rows.ts'
import { Refused, download } from './server.ts'
import type { EventDetail, MessageDetail, TimelineEntry } from './shapes.ts'
import { SIGNATURE_HEADER } from '../public/callback.ts'
import { PROBLEMS } from '../public/events.ts'

/** GET api/messages/:messageId?project. */
export async function showMessage(
  messageId: string,
  project: string | undefined,
  rights: Rights,
  { looking, finding }: { readonly looking: Looking; readonly finding: Finding },
): Promise<MessageDetail> {
  const found = await finding.ofMessage(messageId, project)
  if (found === undefined)
    throw new Refused(404, 'message_unknown', 'No report and no send of a message with this id is kept.')
  const { inside } = looking
  const stored = await inside.latest(found.messageKey)
  const latest = stored && messageState(stored)
  const events = inOrder(found.sent === undefined ? found.events : withOverdue(found.events, found.sent))
  const arrivals = byArrival(events)
  const { expectation } = found.sent ?? {}
  const recipients = [...events.map(({ record }) => record?.report?.recipient), expectation?.to]
  const recipient = recipients.find((known) => known !== undefined)
  const projects = [...events.map(({ record }) => record?.project), expectation?.project]
  return {
    messageId,
    project: projects.find((known) => known !== undefined),
    recipient: recipient === undefined ? undefined : shownRecipient(recipient, rights),
    latest: latest && {
      type: latest.type,
      status: shownText(latest.status, rights),
      statusCode: latest.statusCode,
      occurredAt: latest.occurredAt?.toISOString(),
      failure: failureIn(stored.record, rights),
    },
    finals: latest?.reports.length ?? 0,
    sent: found.sent && sentDetail(found.sent, rights),
    order: orderOf(events),
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
  return {
    event: { ...rowOf(stored, inside, rights), late },
    place: index + 1,
    arrival: arrivals.indexOf(stored) + 1,
    skewSeconds: record && seconds !== undefined ? Math.round(record.receivedAtMs / 1_000 - seconds) : undefined,
    duplicatesAt: watcher.duplicatesOf(id).map(isoOf),
    gap: record?.report && gapOf(stored, record, record.report, around),
    why: whyThere(stored, events[index - 1], late),
    attempts: attemptsOf(stored, watcher, rights),
  }
}

function byArrival(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const arrivedAtMs = ({ record, atMs }: StoredEvent): number => record?.receivedAtMs ?? atMs ?? Infinity
  return events.toSorted((a, b) => arrivedAtMs(a) - arrivedAtMs(b))
}

/** A store that has erased all but the idempotency key of `send.overdue` still has its content: what is kept of the send. */
function withOverdue(
  events: readonly StoredEvent[],
  { messageKey, expectation }: StoredExpectation,
): readonly StoredEvent[] {
  const id = overdueIdentity(messageKey)
  const { project, sentAtMs, overdueAtMs = sentAtMs } = expectation
  const about = {
    project,
    kind: 'status',
    timestamp: Math.floor(overdueAtMs / 1_000),
    timestampSource: 'clock',
    proof: 'none',
    overdue: true,
  } as const
  return events.map((event) => {
    if (event.id !== id || event.record !== undefined) return event
    // It was made between the two.
    const record = { ...about, receivedAtMs: Math.max(overdueAtMs, event.endedAtMs ?? 0) }
    return { ...event, record, raw: encodeExpectation(expectation) }
  })
}

const STEP_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'message.sent'],
  [2, 'message.delivered'],
])

/** Contract, service.md#delivery-rules: an earlier state of a chat-app message may come after a later one, and is waited for. */
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

/** For all of them, once. */
function orderOf(events: readonly StoredEvent[]): string | undefined {
  const reports = events.flatMap(({ record }) => (record?.report === undefined ? [] : [record]))
  if (reports.length < 2) return undefined
  return reports.some(({ report }) => report?.shape === 'chat-app')
    ? 'Chat-app reports have no time of their own. They are ordered by step (sent, delivered, read), then by the time of their signature.'
    : 'Reports are ordered by their own time, not by arrival. Equal times are ordered by step.'
}

/** What the sentence for all does not say. */
function whyThere({ record }: StoredEvent, before: StoredEvent | undefined, late: boolean): string | undefined {
  const { report, overdue } = record ?? {}
  if (overdue === true) return 'No final report had come by the deadline, so the receiver made this event, once.'
  if (record === undefined || report === undefined)
    return 'Only its idempotency key is kept, so its place is not known.'
  if (late) return 'Late: a newer report of this message had been dispatched before this one came.'
  const isOfSameTime = before?.record?.report !== undefined && before.record.timestamp === record.timestamp
  if (report.shape !== 'chat-app' && isOfSameTime) return 'Same time as the report before it.'
  if (record.timestampSource === 'arrival') return 'It has no time of its own; its arrival stands in for it.'
  return undefined
}

/** GET api/events/:id?of&project. `of`: the id of its message. */
export async function showEvent(
  id: string,
  of: MessageName | undefined,
  rights: Rights,
  { looking, finding }: { readonly looking: Looking; readonly finding: Finding },
): Promise<EventDetail> {
  const stored = await find(id, of, finding)
  const { record, raw } = stored
  const isCallback = record?.proof !== 'none'
  // What no callback brings has no body but what is kept of its send.
  const hidden = isCallback || rights.reveal ? 'authKey' : META
  const text = raw?.toString('utf8').replace(/^\uFEFF/, '')
  const payload = text === undefined ? undefined : shownBody(text, rights, hidden)
  const body = rights.reveal ? text : payload
  return {
    event: rowOf(stored, looking.inside, rights),
    payload,
    failure: failureIn(record, rights),
    raw: raw && shownBytes(raw, rights),
    curl: isCallback && body !== undefined ? curlOf(body) : undefined,
    proofSteps: record === undefined ? [] : proofSteps(record),
    attempts: attemptsOf(stored, looking.watcher, rights),
    oddities: record?.oddities ?? [],
    problem: record?.problem && PROBLEMS[record.problem],
  }
}

/** GET api/events/:id/raw?of&project. */
export async function downloadEvent(
  id: string,
  of: MessageName | undefined,
  { reveal }: Rights,
  finding: Finding,
): Promise<Response> {
  if (!reveal)
    throw new Refused(403, 'reveal_required', 'Bodies are shown and downloaded with the right `reveal` alone.')
  const { raw } = await find(id, of, finding)
  if (raw === undefined) throw new Refused(404, 'not_kept', 'The bytes of this event are no longer kept.')
  return download(`${id}.json`, 'application/octet-stream', raw)
}

async function find(id: string, of: MessageName | undefined, finding: Finding): Promise<StoredEvent> {
  const stored = await finding.event(id, of)
  if (stored === undefined)
    throw new Refused(404, 'event_unknown', 'There is no such event; its retention may be over.')
  return stored
}

/** Neither key is kept: placeholders stand for both. */
function curlOf(body: string): string {
  const sent = body.replace(/("authKey"\s*:\s*)"(?:[^"\\]|\\.)*"/, '$1"<authKey>"')
  return [
    "curl -X POST '<your callback URL>'",
    "-H 'content-type: application/json'",
    `-H '${SIGNATURE_HEADER}: t=<time>,v1=<signature>'`,
    `--data-binary '${sent.replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}

function shownBytes(raw: Buffer, { reveal }: Rights): EventDetail['raw'] {
  const isCut = raw.length > MOST_SHOWN_BYTES
  if (!reveal) return { bytes: raw.length, isCut }
  return { bytes: raw.length, isCut, text: raw.subarray(0, MOST_SHOWN_BYTES).toString('utf8') }
}

type Step = EventDetail['proofSteps'][number]
type StepAs = readonly [outcome: Step['outcome'], detail: string]

const TIMES: Readonly<Record<EventRecord['timestampSource'], StepAs>> = {
  payload: ['held', 'The body has a time of its own, which orders the event.'],
  signature: ['absent', 'The body has none; the time of the signature stands in for it.'],
  arrival: ['absent', 'Nothing says when it happened; only its arrival is known.'],
  clock: ['held', 'The time at which its message was overdue, or its send given up, by the receiver’s clock.'],
}

const SIGNED: StepAs = [
  'held',
  'The HMAC of the exact bytes matches a live signing secret, and its time was within the tolerance.',
]
const KEYED: StepAs = ['held', 'The authKey of the body is a live one. It is masked in the store.']
const ONLY_SIGNED: StepAs = ['unknown', 'Absent or invalid; the signature was proof enough.']
const ONLY_KEYED: StepAs = [
  'unknown',
  'Absent or invalid (then the log has `signature_ignored`); the authKey was proof enough.',
]

function proofSteps({ proof, project, timestampSource }: EventRecord): readonly Step[] {
  const ofProject: StepAs =
    project === undefined
      ? ['absent', 'Neither the body nor the credentials name one.']
      : ['held', `The proof belongs to the project ${JSON.stringify(project)}.`]
  const steps: Readonly<Record<string, StepAs>> = {
    ...(proof === 'none'
      ? { Callback: ['absent', 'None: the receiver made this event.'] }
      : { Signature: proof === 'authKey' ? ONLY_KEYED : SIGNED, authKey: proof === 'signature' ? ONLY_SIGNED : KEYED }),
    Project: ofProject,
    Time: TIMES[timestampSource],
  }
  return Object.entries(steps).map(([what, [outcome, detail]]) => ({ what, outcome, detail }))
}
