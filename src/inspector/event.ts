/** One event: what is kept of it, how it was proved, and what its handlers did. */
import { PROBLEMS } from '../events.ts'
import type { EventRecord } from '../inbox/record.ts'
import type { StoredEvent } from '../inbox/store.ts'
import { answer, Refused, type Answer } from './answer.ts'
import { attemptsOf } from './attempts.ts'
import type { Finding, MessageName } from './finding.ts'
import { printed } from './json-text.ts'
import type { Looking } from './looking.ts'
import { maskedValue, META, withoutPhones } from './masking.ts'
import type { Rights } from './rights.ts'
import { failureIn, rowOf } from './rows.ts'
import type { EventDetail } from './shapes.ts'

/** So much of a body is shown; the rest can be downloaded. */
const MOST_SHOWN_BYTES = 16 * 1024

/** GET api/events/:id?of&project. `of`: the id of its message. */
export async function showEvent(
  id: string,
  of: MessageName | undefined,
  rights: Rights,
  { looking, finding }: { readonly looking: Looking; readonly finding: Finding },
): Promise<EventDetail> {
  const stored = await find(id, of, finding)
  const { record, raw } = stored
  // What no callback brings has no body but what is kept of its send.
  const hidden = record?.proof === 'none' && !rights.reveal ? META : 'authKey'
  const payload = raw && payloadText(raw, rights, hidden)
  const failure = failureIn(record, rights)
  return {
    event: rowOf(stored, looking.inside, rights),
    ...(payload !== undefined && { payload }),
    ...(failure && { failure }),
    ...(raw && { raw: shownBytes(raw, rights) }),
    proofSteps: record === undefined ? [] : proofSteps(record),
    attempts: attemptsOf(stored, looking.watcher, rights),
    oddities: record?.oddities ?? [],
    ...(record?.problem !== undefined && { problem: PROBLEMS[record.problem] }),
  }
}

/** GET api/events/:id/raw?of&project. */
export async function downloadEvent(
  id: string,
  of: MessageName | undefined,
  { reveal }: Rights,
  finding: Finding,
): Promise<Answer> {
  if (!reveal)
    throw new Refused(403, 'reveal_required', 'Bodies are shown and downloaded with the right `reveal` alone.')
  const { raw } = await find(id, of, finding)
  if (raw === undefined) throw new Refused(404, 'not_kept', 'The bytes of this event are no longer kept.')
  const headers = {
    // Whatever it is, no browser shall show it as a page of ours.
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${id.replace(/[^\w-]/g, '_')}.json"`,
  }
  return answer(200, headers, { body: raw })
}

async function find(id: string, of: MessageName | undefined, finding: Finding): Promise<StoredEvent> {
  const stored = await finding.event(id, of)
  if (stored === undefined)
    throw new Refused(404, 'event_unknown', 'There is no such event; its retention may be over.')
  return stored
}

/** Undefined where the bytes are no JSON. */
function payloadText(raw: Buffer, { reveal }: Rights, without: string): string | undefined {
  const json = raw.toString('utf8').replace(/^\uFEFF/, '')
  try {
    JSON.parse(json)
  } catch {
    return undefined
  }
  return printed(json, {
    replace: reveal ? (_, text) => text : maskedValue,
    nameOf: reveal ? (name) => name : withoutPhones,
    without,
    mostCharacters: MOST_SHOWN_BYTES,
  })
}

function shownBytes(raw: Buffer, { reveal }: Rights): NonNullable<EventDetail['raw']> {
  const isCut = raw.length > MOST_SHOWN_BYTES
  if (!reveal) return { bytes: raw.length, isCut, hex: '', isMasked: true }
  const shown = raw.subarray(0, MOST_SHOWN_BYTES)
  return { bytes: raw.length, isCut, text: shown.toString('utf8'), hex: shown.toString('hex'), isMasked: false }
}

type Step = EventDetail['proofSteps'][number]

function proofSteps({ proof, project, timestampSource }: EventRecord): readonly Step[] {
  const signature: Step =
    proof === 'authKey'
      ? {
          what: 'Signature',
          outcome: 'unknown',
          detail:
            'It was absent, or did not hold (then the log has `signature_ignored`); the authKey was proof enough.',
        }
      : {
          what: 'Signature',
          outcome: 'held',
          detail:
            'The HMAC over the exact bytes is that of a live signing secret, and its time was within the tolerance.',
        }
  const authKey: Step =
    proof === 'signature'
      ? {
          what: 'authKey',
          outcome: 'unknown',
          detail: 'It was absent, or did not hold; the signature was proof enough.',
        }
      : {
          what: 'authKey',
          outcome: 'held',
          detail: 'The authKey of the body is a live one. It is masked in what is kept.',
        }
  const named: Step =
    project === undefined
      ? { what: 'Project', outcome: 'absent', detail: 'Neither the body nor the credentials name one.' }
      : {
          what: 'Project',
          outcome: 'held',
          detail: `What proved it belongs to the project ${JSON.stringify(project)}.`,
        }
  const times = {
    payload: { outcome: 'held', detail: 'The body has a time of its own, by which it is ordered.' },
    signature: { outcome: 'absent', detail: 'The body has none; the time of the signature stands in for it.' },
    arrival: { outcome: 'absent', detail: 'Nothing tells when it happened; only its arrival is known.' },
    clock: {
      outcome: 'held',
      detail: 'It is the time at which its message was overdue, or its send given up, by the clock of the receiver.',
    },
  } as const
  const made: Step = { what: 'Callback', outcome: 'absent', detail: 'None brought it: the receiver made it.' }
  if (proof === 'none') return [made, named, { what: 'Time', ...times[timestampSource] }]
  return [signature, authKey, named, { what: 'Time', ...times[timestampSource] }]
}
