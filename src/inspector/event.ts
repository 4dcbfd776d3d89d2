/** One event: what is kept of it, how it was proved, and what its handlers did. */
import { SIGNATURE_HEADER } from '../public/callback.ts'
import { PROBLEMS } from '../public/events.ts'
import type { EventRecord } from '../messages/event-record.ts'
import type { StoredEvent } from '../inbox/store.ts'
import type { Finding, MessageName } from './events.ts'
import type { Looking } from './overview.ts'
import { META, MOST_SHOWN_BYTES, shownBody } from './masking.ts'
import type { Rights } from './options.ts'
import { attemptsOf, failureIn, rowOf } from './rows.ts'
import { download, Refused } from './server.ts'
import type { EventDetail } from './shapes.ts'

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

const TIMES = {
  payload: ['held', 'The body has a time of its own, which orders the event.'],
  signature: ['absent', 'The body has none; the time of the signature stands in for it.'],
  arrival: ['absent', 'Nothing says when it happened; only its arrival is known.'],
  clock: ['held', 'The time at which its message was overdue, or its send given up, by the receiver’s clock.'],
} as const

function proofSteps({ proof, project, timestampSource }: EventRecord): readonly Step[] {
  const [timeOutcome, timeDetail] = TIMES[timestampSource]
  const named = project === undefined ? 'absent' : 'held'
  const ofProject =
    project === undefined
      ? 'Neither the body nor the credentials name one.'
      : `The proof belongs to the project ${JSON.stringify(project)}.`
  const last: readonly Step[] = [
    { what: 'Project', outcome: named, detail: ofProject },
    { what: 'Time', outcome: timeOutcome, detail: timeDetail },
  ]
  if (proof === 'none')
    return [{ what: 'Callback', outcome: 'absent', detail: 'None: the receiver made this event.' }, ...last]
  return [
    proof === 'authKey'
      ? {
          what: 'Signature',
          outcome: 'unknown',
          detail: 'Absent or invalid (then the log has `signature_ignored`); the authKey was proof enough.',
        }
      : {
          what: 'Signature',
          outcome: 'held',
          detail: 'The HMAC of the exact bytes matches a live signing secret, and its time was within the tolerance.',
        },
    proof === 'signature'
      ? { what: 'authKey', outcome: 'unknown', detail: 'Absent or invalid; the signature was proof enough.' }
      : {
          what: 'authKey',
          outcome: 'held',
          detail: 'The authKey of the body is a live one. It is masked in the store.',
        },
    ...last,
  ]
}
