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
