/** Scans of tables for people: newest first, filtered by the server if possible, over a limited number of events. */
import { isFiltered, MAX_EXAMINED, needlesOf } from '../../inbox/lists.ts'
import type { EventFilter, Page } from '../../inbox/store.ts'
import type { EventScan, ScannedEvent, ScannedRecord, ScanRequest, SharedEngine } from '../engine.ts'
import { scanned, scannedRows } from '../pages.ts'
import { eventsOf, type StoredPayload } from '../stored.ts'
import type { Value } from './dialect.ts'
import type { Reading } from './engine.ts'
import { versionedIn } from './records.ts'
import { base64, LARGEST, LEAST, timeValue, type Row } from './values.ts'

type Scans = Pick<SharedEngine, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

/** The position of an event in the list of all events: its time of admission, the number of its record, and its id. */
type EventPoint = readonly [atMs: string, record: string, id: string]

/** Rows of a filtered list per query. */
const PIECE = 200

export function createScans({ statements, rows, ask }: Reading): Scans {
  function readRecord(row: Row, place: string): ScannedRecord {
    return { key: rows.keyIn(row), place, record: versionedIn(rows.recordIn(row)).record, payloads: [] }
  }

  /** Reads a row with a payload. */
  function readEvent(row: Row, place: string): ScannedEvent {
    const { key, record } = readRecord(row, place)
    const payload = rows.payloadIn(row)
    return { key, id: payload.id, atMs: payload.admittedAtMs, place, record, payload }
  }

  const numberOf = (row: Row): string => rows.digits(row, 'number')

  /** A page of these records, with their payloads. */
  async function recordsPage(found: readonly Row[], limit: number) {
    const page = scannedRows(found, limit, numberOf, readRecord)
    if (found.length === 0) return { ...page, items: [] }
    // By their numbers: another process may have added records since.
    const stored = await ask(statements.payloadsOf, [JSON.stringify(found.map((row) => ({ number: numberOf(row) })))])
    const byNumber = Map.groupBy(stored, (row) => rows.digits(row, 'record'))
    const payloadsOf = (number: string): readonly StoredPayload[] => (byNumber.get(number) ?? []).map(rows.payloadIn)
    return { ...page, items: page.items.map((one) => ({ ...one, payloads: payloadsOf(one.place) })) }
  }

  function placeOf(row: Row): string {
    return `${rows.integer(row, 'admitted_at')}.${rows.digits(row, 'record')}.${rows.digest(row, 'id')}`
  }

  /** Examines up to `most` events before a place, and returns up to `piece` that may match. */
  async function nextPiece({ id = '', filter }: EventScan, before: EventPoint, most: number, piece: number) {
    const { fromMs = -Infinity, toMs = Infinity } = filter
    const looked = [...before, timeValue(fromMs), timeValue(toMs), most]
    const found = await ask(statements.events, [...looked, piece, id, needleList(filter), ...statesIn(filter)])
    const last = found.at(-1)
    if (last !== undefined && found.length >= piece) return { found, last, isEnd: false }
    const [end] = await ask(statements.lastLooked, looked)
    return { found, last: end, isEnd: end === undefined || rows.integer(end, 'looked') < most }
  }

  async function walk(scan: EventScan): Promise<Page<ScannedEvent>> {
    const { after, limit, id, filter, isWanted } = scan
    const isBounded = id !== undefined || isFiltered(filter)
    const piece = isBounded ? PIECE : limit + 1
    const meant: ScannedEvent[] = []
    let point: EventPoint = pointIn(after) ?? [LARGEST, LARGEST, '']
    let looked = 0
    for (;;) {
      const most = isBounded ? MAX_EXAMINED - looked : limit + 1
      const { found, last, isEnd } = await nextPiece(scan, point, most, piece)
      for (const row of found) {
        const event = readEvent(row, placeOf(row))
        if (isWanted(event)) meant.push(event)
        if (meant.length > limit) return scanned(meant, limit)
      }
      if (last === undefined || isEnd) return scanned(meant, limit)
      looked += rows.integer(last, 'looked')
      if (isBounded && looked >= MAX_EXAMINED)
        return { items: meant, next: placeOf(last), lookedBackToMs: rows.integer(last, 'admitted_at') }
      point = pointIn(placeOf(last)) ?? point
    }
  }

  function lettersFor({ after, limit, id }: ScanRequest & { readonly id: string | undefined }) {
    if (id !== undefined) return ask(statements.letter, [id])
    return ask(statements.letters, [...(pairIn(after) ?? [LEAST, '0']), limit + 1])
  }

  return {
    async scanEvents(scan) {
      if (!isDigest(scan.id)) return { items: [] }
      if (scan.key === undefined) return walk(scan)
      // Includes settled events of which only the identity is left.
      const [found] = (await recordsPage(await ask(statements.record, [scan.key]), 1)).items
      return found === undefined ? { items: [] } : eventsOf(found, scan)
    },
    async scanDeadLetters(request) {
      if (!isDigest(request.id)) return { items: [] }
      const letterPlace = (row: Row): string => `${rows.digits(row, 'died_at')}.${rows.digits(row, 'seq')}`
      // Includes dead letters without a payload, so that they can be discarded.
      return scannedRows(await lettersFor(request), request.limit, letterPlace, readEvent)
    },
    async scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const start = newestFirst ? LARGEST : LEAST
      const sendPlace = (row: Row): string => `${rows.integer(row, 'sent_at')}.${numberOf(row)}`
      const found = await ask(newestFirst ? statements.newestSends : statements.oldestSends, [
        timeValue(fromMs),
        timeValue(toMs),
        ...(pairIn(after) ?? [start, start]),
        limit + 1,
      ])
      return scannedRows(found, limit, sendPlace, readRecord)
    },
    async scanRecords({ after = '', limit }) {
      const number = /^\d{1,19}$/.test(after) ? after : LEAST
      return recordsPage(await ask(statements.records, [number, limit + 1]), limit)
    },
  }
}

/** An id may be typed by hand. */
function isDigest(id: string | undefined): boolean {
  return id === undefined || /^([0-9a-f]{2})+$/.test(id)
}

function needleList(filter: EventFilter): string {
  const lists = needlesOf(filter).map((any, list) => any.map((needle) => ({ list, needle: base64(needle) })))
  return JSON.stringify(lists.flat())
}

/** Whether events may be meant that are dead, that are not, and whose record waits: all, if the filter names no state. */
function statesIn({ states }: EventFilter): readonly Value[] {
  if (states === undefined) return [1, 1, 1]
  const isWaiting = states.some((state) => state !== 'dead' && state !== 'settled')
  return [states.includes('dead'), states.includes('settled'), isWaiting].map(Number)
}

function pointIn(place: string | undefined): EventPoint | undefined {
  const [, atMs, record, id] = /^(-?\d{1,19})\.(\d{1,19})\.([0-9a-f]*)$/.exec(place ?? '') ?? []
  return atMs === undefined || record === undefined || id === undefined ? undefined : [atMs, record, id]
}

function pairIn(place: string | undefined): readonly [string, string] | undefined {
  const [, first, second] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(place ?? '') ?? []
  return first === undefined || second === undefined ? undefined : [first, second]
}
