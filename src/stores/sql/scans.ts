/** Scans of tables for people: newest first, filtered by the server if possible, over a limited number of events. */
import { isFiltered, MAX_EXAMINED, needlesOf } from '../../inbox/lists.ts'
import type { EventScan, ScannedEvent, ScannedRecord, SharedEngine } from '../engine.ts'
import type { Page } from '../../inbox/store.ts'
import { scanned, scannedRows } from '../pages.ts'
import { eventsOf, type StoredPayload } from '../stored.ts'
import type { Dialect } from './dialect.ts'
import { versionedIn } from './records.ts'
import { LARGEST, LEAST, timeValue, type Row } from './values.ts'

type Scans = Pick<SharedEngine, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

/** The position of an event in the list of all events: its time of admission, the number of its record, and its id. */
type EventPoint = readonly [atMs: string, record: string, id: string]

/** Rows of a filtered list per query. */
const PIECE = 200

export function createScans(dialect: Dialect): Scans {
  const { keyColumn, recordColumns, payloadColumns } = dialect
  const { digestIn, digestValue, bigintValue, comparePair, rows, rowsOf } = dialect
  const { records, payloads, dead_letters: deadLetters } = dialect.tables

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

  /** A page of the records that the query `which` finds, with their payloads. */
  async function recordsPage(which: string, limit: number) {
    const [found = []] = await rowsOf(`SELECT ${recordColumns} FROM (${which}) r ORDER BY r.number`)
    const page = scannedRows(found, limit, numberOf, readRecord)
    if (found.length === 0) return { ...page, items: [] }
    // By their numbers: another process may have added records since.
    const numbers = found.map(numberOf).join(', ')
    const [stored = []] = await rowsOf(`SELECT ${payloadColumns} FROM ${payloads} p WHERE p.record IN (${numbers})`)
    const byNumber = Map.groupBy(stored, (row) => rows.digits(row, 'record'))
    const payloadsOf = (number: string): readonly StoredPayload[] => (byNumber.get(number) ?? []).map(rows.payloadIn)
    return { ...page, items: page.items.map((one) => ({ ...one, payloads: payloadsOf(one.place) })) }
  }

  function placeOf(row: Row): string {
    return `${rows.integer(row, 'admitted_at')}.${rows.digits(row, 'record')}.${rows.digest(row, 'id')}`
  }

  /** Examines up to `most` events before a place, and returns up to `piece` that may match. */
  async function nextPiece(scan: EventScan, before: EventPoint, most: number, piece: number) {
    const looked = lookedOf(scan, before, most, dialect)
    const [found = []] = await rowsOf(`
SELECT ${recordColumns}, ${payloadColumns}, p.looked FROM (${looked}) p JOIN ${records} r ON r.number = p.record
${conditionsOf(scan, dialect)} ORDER BY p.looked LIMIT ${piece}`)
    const last = found.at(-1)
    if (last !== undefined && found.length >= piece) return { found, last, isEnd: false }
    const [[end] = []] = await rowsOf(`
SELECT p.admitted_at, p.record, ${digestIn('p.id')} AS id, p.looked FROM (${looked}) p ORDER BY p.looked DESC LIMIT 1`)
    return { found, last: end, isEnd: end === undefined || rows.integer(end, 'looked') < most }
  }

  async function walk(scan: EventScan): Promise<Page<ScannedEvent>> {
    const { after, limit, id, filter, isMeant } = scan
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
        if (isMeant(event)) meant.push(event)
        if (meant.length > limit) return scanned(meant, limit)
      }
      if (last === undefined || isEnd) return scanned(meant, limit)
      looked += rows.integer(last, 'looked')
      if (isBounded && looked >= MAX_EXAMINED)
        return { items: meant, next: placeOf(last), lookedBackToMs: rows.integer(last, 'admitted_at') }
      point = pointIn(placeOf(last)) ?? point
    }
  }

  return {
    async scanEvents(scan) {
      if (scan.key === undefined) return walk(scan)
      // Includes settled events of which only the identity is left.
      const key = digestValue(scan.key)
      const [found] = (await recordsPage(`SELECT * FROM ${records} WHERE ${keyColumn} = ${key}`, 1)).items
      return found === undefined ? { items: [] } : eventsOf(found, scan)
    },
    async scanDeadLetters({ after, limit, id }) {
      // The id may be typed by hand.
      if (id !== undefined && !/^([0-9a-f]{2})+$/.test(id)) return { items: [] }
      const isNext =
        id === undefined
          ? comparePair(['d.died_at', 'd.seq'], '>', pairIn(after) ?? [LEAST, '0'])
          : `d.id = ${digestValue(id)}`
      // Include dead letters without a payload, so that they can be discarded.
      const [found = []] = await rowsOf(`
SELECT ${recordColumns}, ${payloadColumns}, ${digestIn('d.id')} AS id, coalesce(p.admitted_at, d.died_at) AS admitted_at,
  d.died_at, d.seq
FROM ${deadLetters} d JOIN ${records} r ON r.number = d.record
  LEFT JOIN ${payloads} p ON p.record = d.record AND p.id = d.id
WHERE ${isNext}
ORDER BY d.died_at, d.seq LIMIT ${limit + 1}`)
      const letterPlace = (row: Row): string => `${rows.digits(row, 'died_at')}.${rows.digits(row, 'seq')}`
      return scannedRows(found, limit, letterPlace, readEvent)
    },
    async scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const [sign, direction, start] = newestFirst ? (['<', 'DESC', LARGEST] as const) : (['>', 'ASC', LEAST] as const)
      const [found = []] = await rowsOf(`
SELECT ${recordColumns} FROM ${records} r
WHERE r.sent_at >= ${timeValue(fromMs)} AND r.sent_at < ${timeValue(toMs)}
  AND ${comparePair(['r.sent_at', 'r.number'], sign, pairIn(after) ?? [start, start])}
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT ${limit + 1}`)
      const sendPlace = (row: Row): string => `${rows.integer(row, 'sent_at')}.${numberOf(row)}`
      return scannedRows(found, limit, sendPlace, readRecord)
    },
    scanRecords({ after = '', limit }) {
      const number = bigintValue(/^\d{1,19}$/.test(after) ? after : LEAST)
      return recordsPage(`SELECT * FROM ${records} WHERE number > ${number} ORDER BY number LIMIT ${limit + 1}`, limit)
    },
  }
}

/** The next events before a place, with their position in the list. */
function lookedOf(
  { filter }: EventScan,
  [atMs, record, lastId]: EventPoint,
  most: number,
  { tables, bigintValue, digestValue }: Dialect,
): string {
  const { fromMs = -Infinity, toMs = Infinity } = filter
  const [at, number] = [bigintValue(atMs), bigintValue(record)]
  const newest = 'ORDER BY admitted_at DESC, record DESC, id DESC'
  return `
  SELECT n.*, row_number() OVER (${newest}) AS looked FROM (
    SELECT * FROM ${tables.payloads}
    WHERE admitted_at <= ${at} AND admitted_at >= ${timeValue(fromMs)} AND admitted_at < ${timeValue(toMs)}
      AND (admitted_at, record, id) < (${at}, ${number}, ${digestValue(lastId)})
    ${newest} LIMIT ${most}
  ) AS n`
}

/** Excludes events that certainly do not match. */
function conditionsOf({ id, filter }: EventScan, dialect: Dialect): string {
  const conditions = needlesOf(filter).map((any) =>
    anyOf(any.map((needle) => `position(${dialect.textValue(needle)} IN p.event) > 0`)),
  )
  if (id !== undefined) conditions.push(`p.id = ${dialect.digestValue(id)}`)
  if (filter.states !== undefined) conditions.push(anyOf(filter.states.map((state) => mayBe(state, dialect))))
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

function anyOf(conditions: readonly string[]): string {
  return `(${conditions.join(' OR ') || 'false'})`
}

function mayBe(state: string, { tables, due }: Dialect): string {
  const isDead = `EXISTS (SELECT 1 FROM ${tables.dead_letters} d WHERE d.id = p.id)`
  if (state === 'dead') return isDead
  if (state === 'settled') return `NOT ${isDead}`
  return `EXISTS (SELECT 1 FROM ${due.table} d WHERE d.${due.record} = p.record AND d.${due.at} IS NOT NULL)`
}

function pointIn(place: string | undefined): EventPoint | undefined {
  const [, atMs, record, id] = /^(-?\d{1,19})\.(\d{1,19})\.([0-9a-f]*)$/.exec(place ?? '') ?? []
  return atMs === undefined || record === undefined || id === undefined ? undefined : [`(${atMs})`, record, id]
}

function pairIn(place: string | undefined): readonly [string, string] | undefined {
  const [, first, second] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(place ?? '') ?? []
  return first === undefined || second === undefined ? undefined : [`(${first})`, second]
}
