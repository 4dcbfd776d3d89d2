/** Reads stored values that another program or a failing disk may have changed. */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Page } from '../inbox/store.ts'
import type { Command } from '../messages/commands.ts'
import { damagedRecord, readRecord } from '../messages/event-record.ts'
import type { MessageRecord } from '../messages/record.ts'
import type { Payload } from '../messages/views.ts'
import { decodeRecord, decodeSend } from './codec.ts'
import type { Change, EventScan, ScannedEvent, ScannedRecord } from './engine.ts'
import { byNewest, scanned } from './pages.ts'

/** How long a record that was found due is reserved for the process that found it. */
export const RESERVED_MS = 5_000

/** Throws for tables or keys that a later version of this package has changed. `what`: the subject of the message. */
export function refuseNewer(what: string, version: number, known: number): void {
  if (version > known)
    throw new MessagingWebhooksError('store_newer', `${what} version ${version}; this package knows ${known}.`)
}

/** The events that a write admits, with the time of their admission. */
export function admittedIn({ after, payloads }: Change) {
  return payloads.flatMap((change) => {
    if (change.becomes !== 'stored') return []
    const { event } = change
    const entry = [...(after?.waiting ?? []), ...(after?.dead ?? [])].find(({ id }) => id === event.id)
    return [{ event, admittedAtMs: Math.floor(entry?.admittedAtMs ?? event.record.receivedAtMs) }]
  })
}

/** Throws for a column that must have a value. */
export function unusable(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}

/** The record of one message cannot be read. Commands for other messages work: repeat them without this one. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord'
  readonly key: string

  constructor(key: string) {
    super(`The record of message ${key} cannot be read.`)
    this.key = key
  }
}

/** The commands of background work. They find nothing in an unreadable record, so that it does not stop the work for others. */
const OF_BACKGROUND: ReadonlySet<Command['do']> = new Set([
  'lease',
  'settle',
  'release',
  'overdue',
  'expire',
  'catchUp',
])

/** Whether this command finds nothing in an unreadable record. Others reject: someone asked about this message. */
export function passesUnreadable(command: Command): boolean {
  return OF_BACKGROUND.has(command.do) || (command.do === 'read' && command.ifReadable === true)
}

export interface RecordColumns {
  readonly state: string
  readonly send: string | undefined
  readonly sentAtMs: number
  readonly overdueAtMs: number | undefined
}

/** Undefined if it is unreadable. */
export function storedRecord(columns: RecordColumns): MessageRecord | undefined {
  const state = decodeRecord(columns.state)
  if (state === undefined || columns.send === undefined) return state
  const send = decodeSend(columns.send, columns)
  return send && { ...state, send }
}

/** The due time of a record that is put off because it cannot be read, until someone repairs or removes it. */
export const UNREADABLE_DUE_MS = Number.MAX_SAFE_INTEGER

const MAX_REPORTED = 1_000

/** Reports each unreadable record once. */
export function reportUnreadable(report: (error: MessagingWebhooksError) => void): (key: string) => void {
  const reported = new Set<string>()
  return (key) => {
    if (reported.has(key) || reported.size >= MAX_REPORTED) return
    reported.add(key)
    report(new MessagingWebhooksError('event_damaged', `It is the record of message ${key}.`))
  }
}

export interface PayloadColumns {
  readonly id: string
  readonly admittedAtMs: number
  readonly record: Buffer | undefined
  readonly raw: Buffer | undefined
  readonly error: string | undefined
}

export interface StoredPayload extends Payload {
  readonly admittedAtMs: number
}

const NO_BYTES = Buffer.alloc(0)

/** An unreadable payload says so, and holds what is left. */
export function storedPayload(columns: PayloadColumns): StoredPayload {
  const { id, admittedAtMs, raw, error } = columns
  const record = readRecord(columns.record)
  if (record !== undefined && raw !== undefined) return { id, admittedAtMs, record, raw, error }
  const damaged = damagedRecord(columns.record, admittedAtMs)
  return { id, admittedAtMs, record: damaged, raw: raw ?? NO_BYTES, error, isUnreadable: true }
}

/** A page of the events of one record, newest first. Settled events may have no payload. */
export function eventsOf(
  { key, record, payloads }: Pick<ScannedRecord, 'key' | 'record'> & { readonly payloads: readonly StoredPayload[] },
  { after, limit, isMeant }: EventScan,
): Page<ScannedEvent> {
  const ids = new Set(payloads.map(({ id }) => id))
  const events = [
    ...payloads.map((payload) => ({ key, id: payload.id, atMs: payload.admittedAtMs, record, payload })),
    ...record.settled
      .filter(({ id }) => !ids.has(id))
      .map(({ id, endedAtMs }) => ({ key, id, atMs: endedAtMs, record, payload: undefined })),
  ]
  const placed = events.sort(byNewest).map((event, index): ScannedEvent => ({ ...event, place: String(index) }))
  return scanned(placed.slice(after === undefined ? 0 : Number(after) + 1).filter(isMeant), limit)
}
