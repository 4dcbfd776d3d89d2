/** Scans of tables for people: newest first, filtered by the server if possible, over a limited number of events. */
import { isFiltered, MOST_LOOKED_AT } from '../../inbox/filters.ts'
import type { EventScan, Scanned, ScannedEvent, ScannedRecord, SharedStore } from '../../inbox/record-store.ts'
import { scanned, scannedRows } from '../pages.ts'
import { eventsOf, type StoredPayload } from '../stored.ts'
import { LARGEST } from './values.ts'
import type { ReadRecords } from './records.ts'
import type { RecordRow } from './rows.ts'

type Scans = Pick<SharedStore, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

/** An event with the row of its record. */
export interface EventRow {
  readonly row: RecordRow
  readonly payload: StoredPayload
  readonly place: string
}

/** The position of an event in the list of all events: its time of admission, the number of its record, and its id. */
export type EventPoint = readonly [atMs: string, record: string, id: string]

/** Rows of records, and their payloads by number. */
interface RecordRows {
  readonly rows: readonly RecordRow[]
  readonly payloads: ReadonlyMap<string, readonly StoredPayload[]>
}

/** The next events before a place that may match the scan. */
interface EventPiece {
  /** `looked`: how many events were examined up to this one. */
  readonly found: readonly (EventRow & { readonly looked: number })[]
  /** The last event examined, and the number of examined events. Undefined if there are no more. */
  readonly end: { readonly place: string; readonly atMs: number; readonly count: number } | undefined
}

export interface ScanQueries {
  /** The record of this key, and its overflow records. */
  ofMessage(key: string): Promise<RecordRows>
  /** Examines up to `most` events before a place, and returns up to `piece` that may match. */
  piece(
    scan: EventScan,
    before: EventPoint,
    limits: { readonly most: number; readonly piece: number },
  ): Promise<EventPiece>
  /** Dead letters after a place, oldest first. A dead letter without a payload is listed with a corrupt one. */
  deadLetters(after: readonly [diedAt: string, seq: string] | undefined, limit: number): Promise<readonly EventRow[]>
  sends(
    request: Parameters<SharedStore['scanSends']>[0] & { readonly place: readonly [string, string] | undefined },
    limit: number,
  ): Promise<readonly RecordRow[]>
  /** Records after this number. */
  records(after: string | undefined, limit: number): Promise<RecordRows>
}

/** Rows of a filtered list per query. */
const PIECE = 200

export function createTableScans(queries: ScanQueries, readRecords: ReadRecords): Scans {
  /** The returned function reads a row. It returns undefined for a record of a later version. */
  async function recordReader(rows: readonly RecordRow[]) {
    const records = await readRecords(rows, false)
    return ({ key }: RecordRow, place: string): ScannedRecord | undefined => {
      const record = records.get(key)?.record
      return record && { key, place, record, payloads: [] }
    }
  }

  async function eventReader(found: readonly EventRow[]) {
    const recordOf = await recordReader(found.map(({ row }) => row))
    return ({ row, payload, place }: EventRow): ScannedEvent | undefined => {
      const one = recordOf(row, place)
      return one && { key: one.key, id: payload.id, atMs: payload.admittedAtMs, place, record: one.record, payload }
    }
  }

  /** All events of one message, including settled ones of which only the identity is left. */
  async function eventsOfMessage(key: string, scan: EventScan): Promise<Scanned<ScannedEvent>> {
    const { rows, payloads } = await queries.ofMessage(key)
    const recordOf = await recordReader(rows)
    const records = rows.flatMap((row) => recordOf(row, row.number) ?? [])
    return eventsOf(
      records.map((one) => ({ ...one, payloads: payloads.get(one.place) ?? [] })),
      scan,
    )
  }

  async function walk(scan: EventScan): Promise<Scanned<ScannedEvent>> {
    const { after, limit, id, filter, isMeant } = scan
    const isBounded = id !== undefined || isFiltered(filter)
    const meant: ScannedEvent[] = []
    let place: EventPoint = pointIn(after) ?? [LARGEST, LARGEST, '']
    let looked = 0
    for (;;) {
      const most = isBounded ? MOST_LOOKED_AT - looked : limit + 1
      const piece = isBounded ? PIECE : limit + 1
      const { found, end } = await queries.piece(scan, place, { most, piece })
      const eventOf = await eventReader(found)
      for (const row of found) {
        const event = eventOf(row)
        if (event !== undefined && isMeant(event)) meant.push(event)
        if (meant.length > limit) return scanned(meant, limit)
      }
      const last = found.at(-1)
      if (last !== undefined && found.length >= piece) {
        place = pointIn(last.place) ?? place
        looked += last.looked
        continue
      }
      if (end === undefined || end.count < most) return scanned(meant, limit)
      if (isBounded) return { items: meant, next: end.place, lookedBackToMs: end.atMs }
      place = pointIn(end.place) ?? place
    }
  }

  return {
    scanEvents: (scan) => (scan.key === undefined ? walk(scan) : eventsOfMessage(scan.key, scan)),
    async scanDeadLetters({ after, limit }) {
      const found = await queries.deadLetters(pairIn(after), limit + 1)
      return scannedRows(found, limit, ({ place }) => place, await eventReader(found))
    },
    async scanSends(request) {
      const { after, limit } = request
      const rows = await queries.sends({ ...request, place: pairIn(after) }, limit + 1)
      return scannedRows(rows, limit, ({ sentAtMs, number }) => `${sentAtMs}.${number}`, await recordReader(rows))
    },
    async scanRecords({ after = '', limit }) {
      const { rows, payloads } = await queries.records(/^\d{1,19}$/.test(after) ? after : undefined, limit + 1)
      const page = scannedRows(rows, limit, ({ number }) => number, await recordReader(rows))
      return { ...page, items: page.items.map((one) => ({ ...one, payloads: payloads.get(one.place) ?? [] })) }
    },
  }
}

export function eventPlace(atMs: number, record: string, id: string): string {
  return `${atMs}.${record}.${id}`
}

function pointIn(place: string | undefined): EventPoint | undefined {
  const [, atMs, record, id] = /^(-?\d{1,19})\.(\d{1,19})\.([0-9a-f]*)$/.exec(place ?? '') ?? []
  return atMs === undefined || record === undefined || id === undefined ? undefined : [`(${atMs})`, record, id]
}

function pairIn(place: string | undefined): readonly [string, string] | undefined {
  const [, first, second] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(place ?? '') ?? []
  return first === undefined || second === undefined ? undefined : [`(${first})`, second]
}
