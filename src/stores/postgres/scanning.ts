/** The queries behind scans for people. */
import { needlesOf } from '../../inbox/filters.ts'
import type { EventScan } from '../../inbox/record-store.ts'
import { eventPlace, payloadsByNumber, type EventPoint, type EventRow, type ScanQueries } from '../sql/scans.ts'
import { bytesOf, bytesValue, digestValue, integer, numberValue, text, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { PAYLOAD_COLUMNS, payloadIn, RECORD_COLUMNS, recordRowOf } from './records.ts'

const LARGEST = '9223372036854775807'
const LEAST = '(-9223372036854775807)'

export function createScanQueries({ schema, together }: Engine): ScanQueries {
  async function recordRows(records: string, payloads: string) {
    const [rows = [], stored = []] = await together(records + payloads)
    return {
      rows: rows.map(recordRowOf),
      payloads: payloadsByNumber(stored, (row) => text(row, 'record'), payloadIn),
    }
  }

  return {
    ofMessage(key) {
      const which = `r.key = ${digestValue(key)} OR r.of = ${digestValue(key)}`
      return recordRows(
        `SELECT ${RECORD_COLUMNS} FROM ${schema}.records r WHERE ${which};`,
        `SELECT ${PAYLOAD_COLUMNS} FROM ${schema}.records r JOIN ${schema}.payloads p ON p.record = r.number WHERE ${which};`,
      )
    },
    async piece(scan, before, limits) {
      const [rows = [], [end] = []] = await together(piecesOf(scan, before, { ...limits, schema }))
      return {
        found: rows.map((row) => ({ ...eventRowOf(row, placeOf(row)), looked: integer(row, 'looked') })),
        end: end && { place: placeOf(end), atMs: integer(end, 'admitted_at'), count: integer(end, 'count') },
      }
    },
    async deadLetters([diedAt, seq] = [LEAST, '0'], limit) {
      // Include dead letters without a payload, so that they can be discarded.
      const [rows = []] = await together(`
SELECT ${RECORD_COLUMNS}, ${PAYLOAD_COLUMNS}, encode(d.id, 'hex') AS id, coalesce(p.admitted_at, d.died_at) AS admitted_at,
  d.died_at || '.' || d.seq AS place
FROM ${schema}.dead_letters d JOIN ${schema}.records r ON r.number = d.record
  LEFT JOIN ${schema}.payloads p ON p.record = d.record AND p.id = d.id
WHERE (d.died_at, d.seq) > (${diedAt}::bigint, ${seq}::bigint) ORDER BY d.died_at, d.seq LIMIT ${limit};`)
      return rows.map((row) => eventRowOf(row, text(row, 'place')))
    },
    async sends({ fromMs, toMs, newestFirst, place }, limit) {
      const [sentAt, number] = place ?? (newestFirst ? [LARGEST, LARGEST] : [LEAST, LEAST])
      const [sign, direction] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC']
      const [rows = []] = await together(`
SELECT ${RECORD_COLUMNS} FROM ${schema}.records r
WHERE r.sent_at >= ${timeOf(fromMs)} AND r.sent_at < ${timeOf(toMs)}
  AND (r.sent_at, r.number) ${sign} (${sentAt}::bigint, ${number}::bigint)
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT ${limit};`)
      return rows.map(recordRowOf)
    },
    records(after = LEAST, limit) {
      const page = `SELECT * FROM ${schema}.records WHERE number > ${after}::bigint ORDER BY number LIMIT ${limit}`
      return recordRows(
        `SELECT ${RECORD_COLUMNS} FROM (${page}) r ORDER BY r.number;`,
        `SELECT ${PAYLOAD_COLUMNS} FROM (${page}) r JOIN ${schema}.payloads p ON p.record = r.number;`,
      )
    },
  }
}

function eventRowOf(row: Row, place: string): EventRow {
  return { row: recordRowOf(row), payload: payloadIn(row), place }
}

function placeOf(row: Row): string {
  return eventPlace(integer(row, 'admitted_at'), text(row, 'record'), text(row, 'id'))
}

/** Finds the next events before a place, among `most` rows, and the last row examined. */
function piecesOf(
  { id, filter }: EventScan,
  [atMs, record, lastId]: EventPoint,
  { most, piece, schema }: { readonly most: number; readonly piece: number; readonly schema: string },
): string {
  const { fromMs = -Infinity, toMs = Infinity, states } = filter
  const newest = 'ORDER BY admitted_at DESC, record DESC, id DESC'
  const looked = `looked AS (
  SELECT *, row_number() OVER (${newest}) AS looked FROM (
    SELECT * FROM ${schema}.payloads
    WHERE admitted_at <= ${atMs}::bigint AND admitted_at >= ${timeOf(fromMs)} AND admitted_at < ${timeOf(toMs)}
      AND (admitted_at, record, id) < (${atMs}::bigint, ${record}::bigint, ${digestValue(lastId)})
    ${newest} LIMIT ${most}
  ) AS newest
)`
  const conditions = needlesOf(filter).map(
    (any) =>
      `(${any.map((needle) => `position(${bytesValue(bytesOf(needle))} IN p.event) > 0`).join(' OR ') || 'false'})`,
  )
  if (id !== undefined) conditions.push(`p.id = ${digestValue(id)}`)
  if (states !== undefined) conditions.push(`(${states.map((state) => mayBe(state, schema)).join(' OR ') || 'false'})`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `
WITH ${looked}
SELECT ${RECORD_COLUMNS}, ${PAYLOAD_COLUMNS}, p.looked FROM looked p JOIN ${schema}.records r ON r.number = p.record
${where} ORDER BY p.looked LIMIT ${piece};
WITH ${looked}
SELECT admitted_at, record, encode(id, 'hex') AS id, (SELECT count(*) FROM looked) AS count
FROM looked ORDER BY looked DESC LIMIT 1;`
}

/** A condition that excludes events that are certainly in another state. */
function mayBe(state: string, schema: string): string {
  if (state === 'dead') return `EXISTS (SELECT FROM ${schema}.dead_letters d WHERE d.id = p.id)`
  if (state === 'settled') return `NOT EXISTS (SELECT FROM ${schema}.dead_letters d WHERE d.id = p.id)`
  return `EXISTS (SELECT FROM ${schema}.due d WHERE d.record = p.record)`
}

function timeOf(ms: number): string {
  return numberValue(Math.ceil(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)))
}
