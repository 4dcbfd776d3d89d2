/** Reads stored values that another program or a failing disk may have changed. */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Page } from '../inbox/store.ts'
import { damagedRecord, readRecord } from '../messages/event-record.ts'
import type { MessageRecord } from '../messages/record.ts'
import { unreadableRecord } from '../messages/replay.ts'
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

export interface RecordColumns {
  readonly state: string
  readonly send: string | undefined
  readonly sentAtMs: number
  readonly overdueAtMs: number | undefined
}

/** A record with an unreadable part is unreadable as a whole. */
export function storedRecord(columns: RecordColumns, key: string): MessageRecord {
  const state = decodeRecord(columns.state)
  if (state !== undefined && columns.send === undefined) return state
  const send = columns.send === undefined ? undefined : decodeSend(columns.send, columns)
  return state === undefined || send === undefined ? unreadableRecord(key) : { ...state, send }
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
  { after, limit, isWanted }: EventScan,
): Page<ScannedEvent> {
  const ids = new Set(payloads.map(({ id }) => id))
  const events = [
    ...payloads.map((payload) => ({ key, id: payload.id, atMs: payload.admittedAtMs, record, payload })),
    ...record.settled
      .filter(({ id }) => !ids.has(id))
      .map(({ id, endedAtMs }) => ({ key, id, atMs: endedAtMs, record, payload: undefined })),
  ]
  const placed = events.sort(byNewest).map((event, index): ScannedEvent => ({ ...event, place: String(index) }))
  return scanned(placed.slice(after === undefined ? 0 : Number(after) + 1).filter(isWanted), limit)
}
