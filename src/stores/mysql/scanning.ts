/** The queries behind scans for people. */
import { needlesOf } from '../../inbox/filters.ts'
import type { EventScan } from '../../inbox/record-store.ts'
import { eventPlace, payloadsByNumber, type EventPoint, type EventRow, type ScanQueries } from '../sql/scans.ts'
import { digestOf, digestValue, integer, numberValue, textOf, textValue, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Tables } from './migrations.ts'
import { PAYLOAD_COLUMNS, payloadIn, RECORD_COLUMNS, recordRowOf } from './records.ts'

const LARGEST = '9223372036854775807'
const LEAST = '-9223372036854775807'

export function createScanQueries({ connections: { run }, tables }: Engine): ScanQueries {
  const { records, payloads, dead_letters: deadLetters } = tables

  /** `which`: a query for rows of records. */
  async function recordRows(which: string) {
    const { rows } = await run(`SELECT ${RECORD_COLUMNS} FROM (${which}) r ORDER BY r.number`)
    if (rows.length === 0) return { rows: [], payloads: new Map() }
    const numbers = rows.map((row) => textOf(row, 'number')).join(', ')
    const stored = await run(`SELECT ${PAYLOAD_COLUMNS} FROM ${payloads} p WHERE p.record IN (${numbers})`)
    const byNumber = payloadsByNumber(stored.rows, (row) => textOf(row, 'record'), payloadIn)
    return { rows: rows.map(recordRowOf), payloads: byNumber }
  }

  return {
    ofMessage: (key) =>
      recordRows(`
SELECT * FROM ${records} WHERE digest = ${digestValue(key)}
UNION ALL SELECT * FROM ${records} WHERE overflow_of = ${digestValue(key)}`),
    async piece(scan, before, { most, piece }) {
      const looked = lookedOf(scan, before, most, payloads)
      const { rows } = await run(`
SELECT ${RECORD_COLUMNS}, ${PAYLOAD_COLUMNS}, p.looked FROM (${looked}) p JOIN ${records} r ON r.number = p.record
${conditionsOf(scan, tables)} ORDER BY p.looked LIMIT ${piece}`)
      const found = rows.map((row) => ({ ...eventRowOf(row, placeOf(row)), looked: integer(row, 'looked') }))
      if (rows.length >= piece) return { found, end: undefined }
      const ends = await run(
        `SELECT p.admitted_at, p.record, p.id, p.looked FROM (${looked}) p ORDER BY p.looked DESC LIMIT 1`,
      )
      const [end] = ends.rows
      return {
        found,
        end: end && { place: placeOf(end), atMs: integer(end, 'admitted_at'), count: integer(end, 'looked') },
      }
    },
    async deadLetters([diedAt, seq] = [LEAST, '0'], limit) {
      // Lists a dead letter whose payload is gone too, so that it can be discarded.
      const { rows } = await run(`
SELECT ${RECORD_COLUMNS}, d.record, d.id, COALESCE(p.admitted_at, d.died_at) AS admitted_at, p.event, p.raw, p.error,
  d.died_at, d.seq
FROM ${deadLetters} d JOIN ${records} r ON r.number = d.record
  LEFT JOIN ${payloads} p ON p.record = d.record AND p.id = d.id
WHERE d.died_at >= ${diedAt} AND (d.died_at > ${diedAt} OR d.seq > ${seq}) ORDER BY d.died_at, d.seq LIMIT ${limit}`)
      return rows.map((row) => eventRowOf(row, `${textOf(row, 'died_at')}.${textOf(row, 'seq')}`))
    },
    async sends({ fromMs, toMs, newestFirst, place }, limit) {
      const [sentAt, number] = place ?? (newestFirst ? [LARGEST, LARGEST] : [LEAST, LEAST])
      const [sign, direction] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC']
      const { rows } = await run(`
SELECT ${RECORD_COLUMNS} FROM ${records} r
WHERE r.sent_at >= ${timeOf(fromMs)} AND r.sent_at < ${timeOf(toMs)} AND r.sent_at ${sign}= ${sentAt}
  AND (r.sent_at ${sign} ${sentAt} OR r.number ${sign} ${number})
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT ${limit}`)
      return rows.map(recordRowOf)
    },
    records: (after = LEAST, limit) =>
      recordRows(`SELECT * FROM ${records} WHERE number > ${after} ORDER BY number LIMIT ${limit}`),
  }
}

function eventRowOf(row: Row, place: string): EventRow {
  return { row: recordRowOf(row), payload: payloadIn(row), place }
}

function placeOf(row: Row): string {
  return eventPlace(integer(row, 'admitted_at'), textOf(row, 'record'), digestOf(row, 'id'))
}

/** The next events before a place, with their place in the list. */
function lookedOf({ filter }: EventScan, [atMs, record, lastId]: EventPoint, most: number, payloads: string): string {
  const { fromMs = -Infinity, toMs = Infinity } = filter
  const newest = 'ORDER BY admitted_at DESC, record DESC, id DESC'
  return `
  SELECT n.*, ROW_NUMBER() OVER (${newest}) AS looked FROM (
    SELECT * FROM ${payloads}
    WHERE admitted_at <= ${atMs} AND admitted_at >= ${timeOf(fromMs)} AND admitted_at < ${timeOf(toMs)}
      AND (admitted_at, record, id) < (${atMs}, ${record}, ${digestValue(lastId)})
    ${newest} LIMIT ${most}
  ) AS n`
}

/** Leaves out events that certainly do not match. */
function conditionsOf({ id, filter }: EventScan, tables: Tables): string {
  const conditions = needlesOf(filter).map((any) =>
    anyOf(any.map((needle) => `LOCATE(${textValue(needle)}, p.event) > 0`)),
  )
  if (id !== undefined) conditions.push(`p.id = ${digestValue(id)}`)
  const { states } = filter
  if (states !== undefined) conditions.push(anyOf(states.map((state) => mayBe(state, tables.dead_letters))))
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

function anyOf(conditions: readonly string[]): string {
  return `(${conditions.join(' OR ') || 'FALSE'})`
}

function mayBe(state: string, deadLetters: string): string {
  const isDead = `EXISTS (SELECT 1 FROM ${deadLetters} d WHERE d.id = p.id)`
  if (state === 'dead') return isDead
  return state === 'settled' ? `NOT ${isDead}` : 'r.due_at IS NOT NULL'
}

function timeOf(ms: number): string {
  return numberValue(Math.ceil(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)))
}
