/** What the file knows of a message, and of an event: what several verbs ask and write. */
import type { MessageLatest } from '../../inbox/latest.ts'
import { decodeLatest } from './encoding.ts'
import { blob, cut, cutRowid, integer, text, type Row } from './statements.ts'

/** A message by its key. */
export const FIND_MESSAGE = /* sql */ `
SELECT rowid, steps & 255 AS steps, handed, handed_open, ${cut('token')} AS token, lease_token <> 0 AS held, latest,
  due IS NULL AS idle, overdue_at = 0 AS was_overdue, expected
FROM messages WHERE key = :key
`

interface KnownMessage {
  /** The chat-app steps seen, as bits. */
  readonly steps: number
  /** The greatest order handed over; and the same of reports that are not final, which alone make a final one late. */
  readonly handed: string
  readonly handedOpen: string
  /** Of the last lease; 0 before the first. */
  readonly token: number
  /** Somebody holds the message, or did and has let the lease run out. */
  readonly held: boolean
  readonly latest: MessageLatest | 'damaged' | undefined
  /** Nothing of it waits or is in anybody's hands. */
  readonly idle: boolean
}

export interface MessageRow extends KnownMessage {
  readonly message: number
  readonly expected: ExpectedBytes | undefined
}

/** What is expected of a message, as it stands in the file. */
export interface ExpectedBytes {
  readonly json: Uint8Array
  readonly wasOverdue: boolean
}

export function expectedIn(row: Row): ExpectedBytes | undefined {
  const json = blob(row, 'expected')
  return json && { json, wasOverdue: row['was_overdue'] === 1 }
}

/** What is known of a message before its first event. */
export const UNKNOWN_MESSAGE: KnownMessage = {
  steps: 0,
  handed: '',
  handedOpen: '',
  token: 0,
  held: false,
  latest: undefined,
  idle: true,
}

export function readMessage(row: Row): MessageRow {
  const latest = blob(row, 'latest')
  return {
    message: integer(row, 'rowid'),
    steps: integer(row, 'steps'),
    handed: text(row, 'handed'),
    handedOpen: text(row, 'handed_open'),
    token: integer(row, 'token'),
    held: integer(row, 'held') !== 0,
    latest: latest && (decodeLatest(latest) ?? 'damaged'),
    idle: integer(row, 'idle') !== 0,
    expected: row['expected'] === null ? undefined : expectedIn(row),
  }
}

/** How far a message was handed over: what comes later and is older is late. */
interface Handed {
  readonly handed: string
  readonly handedOpen: string
}

/** The same when an event is handed over. */
export function handedWith({ handed, handedOpen }: Handed, order: string, final: boolean): Handed {
  return {
    handed: order > handed ? order : handed,
    handedOpen: !final && order > handedOpen ? order : handedOpen,
  }
}

/** A message that nobody holds is due when its first waiting event is; not at all where none waits. */
export const SCHEDULE_MESSAGE = /* sql */ `
UPDATE messages
SET due = (SELECT due FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1), lease_token = 0
WHERE rowid = :message
`

/** The state of an event by its identity; no row where it was never admitted or is forgotten. */
export const FIND_EVENT = /* sql */ `
SELECT seq, ${cutRowid('message')} AS message, state, ord, final FROM events WHERE id = :id
`

/** The values of `events.state` that are set from here; statements and indexes write them as numbers, and 0 for waiting. */
export const SETTLED = 1
export const DEAD = 2
