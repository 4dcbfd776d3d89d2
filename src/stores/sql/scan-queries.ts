/** The queries behind scans for people. */
import { needlesOf } from '../../inbox/filters.ts'
import type { EventScan } from '../../inbox/record-store.ts'
import type { Dialect } from './dialect.ts'
import type { Row } from './rows.ts'
import { eventPlace, type EventPoint, type EventRow, type ScanQueries } from './scans.ts'
import { LARGEST, LEAST, timeValue } from './values.ts'

export function createScanQueries(dialect: Dialect): ScanQueries {
  const { keyColumn, ofColumn, recordColumns, payloadColumns } = dialect
  const { digestIn, digestValue, bigintValue, comparePair, rows, rowsOf } = dialect
  const { records, payloads, dead_letters: deadLetters } = dialect.tables

  /** `which`: a query for records. */
  async function recordRows(which: string) {
    const [found = []] = await rowsOf(`SELECT ${recordColumns} FROM (${which}) r ORDER BY r.number`)
    if (found.length === 0) return { rows: [], payloads: new Map() }
    // By their numbers: another process may have added records since.
    const numbers = found.map((row) => rows.digits(row, 'number')).join(', ')
    const [stored = []] = await rowsOf(`SELECT ${payloadColumns} FROM ${payloads} p WHERE p.record IN (${numbers})`)
    const byNumber = Map.groupBy(stored, (row) => rows.digits(row, 'record'))
    return {
      rows: found.map(rows.recordIn),
      payloads: new Map([...byNumber].map(([number, own]) => [number, own.map(rows.payloadIn)])),
    }
  }

  function eventRowOf(row: Row, place: string): EventRow {
    return { row: rows.recordIn(row), payload: rows.payloadIn(row), place }
  }

  function placeOf(row: Row): string {
    return eventPlace(rows.integer(row, 'admitted_at'), rows.digits(row, 'record'), rows.digest(row, 'id'))
  }

  return {
    ofMessage: (key) =>
      recordRows(`
SELECT * FROM ${records} WHERE ${keyColumn} = ${digestValue(key)}
UNION ALL SELECT * FROM ${records} WHERE ${ofColumn} = ${digestValue(key)}`),
    async piece(scan, before, { most, piece }) {
      const looked = lookedOf(scan, before, most, dialect)
      const [rowsFound = []] = await rowsOf(`
SELECT ${recordColumns}, ${payloadColumns}, p.looked FROM (${looked}) p JOIN ${records} r ON r.number = p.record
${conditionsOf(scan, dialect)} ORDER BY p.looked LIMIT ${piece}`)
      const found = rowsFound.map((row) => ({ ...eventRowOf(row, placeOf(row)), looked: rows.integer(row, 'looked') }))
      if (found.length >= piece) return { found, end: undefined }
      const [[end] = []] = await rowsOf(`
SELECT p.admitted_at, p.record, ${digestIn('p.id')} AS id, p.looked FROM (${looked}) p ORDER BY p.looked DESC LIMIT 1`)
      return {
        found,
        end: end && { place: placeOf(end), atMs: rows.integer(end, 'admitted_at'), count: rows.integer(end, 'looked') },
      }
    },
    async deadLetters(after = [LEAST, '0'], limit) {
      // Include dead letters without a payload, so that they can be discarded.
      const [found = []] = await rowsOf(`
SELECT ${recordColumns}, ${payloadColumns}, ${digestIn('d.id')} AS id, coalesce(p.admitted_at, d.died_at) AS admitted_at,
  d.died_at, d.seq
FROM ${deadLetters} d JOIN ${records} r ON r.number = d.record
  LEFT JOIN ${payloads} p ON p.record = d.record AND p.id = d.id
WHERE ${comparePair(['d.died_at', 'd.seq'], '>', after)} ORDER BY d.died_at, d.seq LIMIT ${limit}`)
      return found.map((row) => eventRowOf(row, `${rows.digits(row, 'died_at')}.${rows.digits(row, 'seq')}`))
    },
    async sends({ fromMs, toMs, newestFirst, place }, limit) {
      const after = place ?? (newestFirst ? ([LARGEST, LARGEST] as const) : ([LEAST, LEAST] as const))
      const [sign, direction] = newestFirst ? (['<', 'DESC'] as const) : (['>', 'ASC'] as const)
      const [found = []] = await rowsOf(`
SELECT ${recordColumns} FROM ${records} r
WHERE r.sent_at >= ${timeValue(fromMs)} AND r.sent_at < ${timeValue(toMs)}
  AND ${comparePair(['r.sent_at', 'r.number'], sign, after)}
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT ${limit}`)
      return found.map(rows.recordIn)
    },
    records: (after = LEAST, limit) =>
      recordRows(`SELECT * FROM ${records} WHERE number > ${bigintValue(after)} ORDER BY number LIMIT ${limit}`),
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
