/** Scans for people: newest first, filtered by the server if possible, over a limited number of events. */
import { isFiltered, MOST_LOOKED_AT, needlesOf } from '../../inbox/filters.ts'
import type {
  EventScan,
  Scanned,
  ScannedEvent,
  ScannedRecord,
  SharedStore,
  Versioned,
} from '../../inbox/record-store.ts'
import { scanned, scannedRows } from '../pages.ts'
import { eventsOf } from '../stored.ts'
import { bytesOf, bytesValue, digestValue, integer, numberValue, text, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { PAYLOAD_COLUMNS, payloadIn, RECORD_COLUMNS } from './records.ts'

type Scans = Pick<SharedStore, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>
type ReadRecords = (rows: readonly Row[], repairs: boolean) => Promise<ReadonlyMap<string, Versioned>>

/** Rows of a filtered list per query. */
const PIECE = 200
const LARGEST = '9223372036854775807'
const LEAST = '(-9223372036854775807)'

export function createScans({ schema, together }: Engine, recordsIn: ReadRecords): Scans {
  async function rowsOf(statement: string): Promise<readonly Row[]> {
    return (await together(statement))[0] ?? []
  }

  /** All events of one message, including settled ones of which only the identity is left. */
  async function eventsOfMessage(key: string, scan: EventScan): Promise<Scanned<ScannedEvent>> {
    const which = `r.key = ${digestValue(key)} OR r.of = ${digestValue(key)}`
    const [rows = [], payloads = []] = await together(`
SELECT ${RECORD_COLUMNS} FROM ${schema}.records r WHERE ${which};
SELECT ${PAYLOAD_COLUMNS} FROM ${schema}.records r JOIN ${schema}.payloads p ON p.record = r.number WHERE ${which};`)
    const recordOf = await recordReader(rows)
    const records = rows.flatMap((row) => recordOf(row, text(row, 'number')) ?? [])
    return eventsOf(withPayloads(records, payloads), scan)
  }

  async function walk(scan: EventScan): Promise<Scanned<ScannedEvent>> {
    const { after, limit, id, filter, isMeant } = scan
    const isBounded = id !== undefined || isFiltered(filter)
    const found: ScannedEvent[] = []
    let place = placeIn(after) ?? [LARGEST, LARGEST, '']
    let looked = 0
    for (;;) {
      const most = isBounded ? MOST_LOOKED_AT - looked : limit + 1
      const piece = isBounded ? PIECE : limit + 1
      const [rows = [], [end] = []] = await together(piecesOf(scan, place, { most, piece, schema }))
      const eventOf = await eventReader(rows)
      for (const row of rows) {
        const event = eventOf(row, eventPlace(row))
        if (event !== undefined && isMeant(event)) found.push(event)
        if (found.length > limit) return scanned(found, limit)
      }
      const last = rows.at(-1)
      if (last !== undefined && rows.length >= piece) {
        place = placeIn(eventPlace(last)) ?? place
        looked += integer(last, 'looked')
        continue
      }
      // Some of the rows have no record.
      if (end === undefined || integer(end, 'count') < most) return scanned(found, limit)
      if (isBounded) return { items: found, next: eventPlace(end), lookedBackToMs: integer(end, 'admitted_at') }
      place = placeIn(eventPlace(end)) ?? place
    }
  }

  /** A reader of rows as events. It returns undefined for a record of a later version. */
  async function eventReader(rows: readonly Row[]): Promise<(row: Row, place: string) => ScannedEvent | undefined> {
    const recordOf = await recordReader(rows)
    return (row, place) => {
      const found = recordOf(row, place)
      if (found === undefined) return undefined
      const payload = payloadIn(row)
      return { key: found.key, id: payload.id, atMs: payload.admittedAtMs, place, record: found.record, payload }
    }
  }

  /** The same for records without payloads. */
  async function recordReader(rows: readonly Row[]): Promise<(row: Row, place: string) => ScannedRecord | undefined> {
    const records = await recordsIn(rows, false)
    return (row, place) => {
      const key = text(row, 'key')
      const record = records.get(key)?.record
      return record && { key, place, record, payloads: [] }
    }
  }

  return {
    scanEvents: (scan) => (scan.key === undefined ? walk(scan) : eventsOfMessage(scan.key, scan)),
    async scanDeadLetters({ after, limit }) {
      const [diedAt = LEAST, seq = '0'] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(after ?? '')?.slice(1) ?? []
      // Lists a dead letter whose payload is gone too, so that it can be discarded.
      const rows = await rowsOf(`
SELECT ${RECORD_COLUMNS}, ${PAYLOAD_COLUMNS}, encode(d.id, 'hex') AS id, coalesce(p.admitted_at, d.died_at) AS admitted_at,
  d.died_at || '.' || d.seq AS place
FROM ${schema}.dead_letters d JOIN ${schema}.records r ON r.number = d.record
  LEFT JOIN ${schema}.payloads p ON p.record = d.record AND p.id = d.id
WHERE (d.died_at, d.seq) > (${diedAt}::bigint, ${seq}::bigint) ORDER BY d.died_at, d.seq LIMIT ${limit + 1};`)
      return scannedRows(rows, limit, (row) => text(row, 'place'), await eventReader(rows))
    },
    async scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const start = newestFirst ? [LARGEST, LARGEST] : [LEAST, LEAST]
      const [sentAt, number] = /^(-?\d{1,19})\.(\d{1,19})$/.exec(after ?? '')?.slice(1) ?? start
      const [sign, direction] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC']
      const rows = await rowsOf(`
SELECT ${RECORD_COLUMNS} FROM ${schema}.records r
WHERE r.sent_at >= ${timeOf(fromMs)} AND r.sent_at < ${timeOf(toMs)}
  AND (r.sent_at, r.number) ${sign} (${sentAt}::bigint, ${number}::bigint)
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT ${limit + 1};`)
      const placeOf = (row: Row): string => `${text(row, 'sent_at')}.${text(row, 'number')}`
      return scannedRows(rows, limit, placeOf, await recordReader(rows))
    },
    async scanRecords({ after, limit }) {
      const from = /^\d{1,19}$/.test(after ?? '') ? after : LEAST
      const page = `SELECT * FROM ${schema}.records WHERE number > ${from}::bigint ORDER BY number LIMIT ${limit + 1}`
      const [rows = [], payloads = []] = await together(`
SELECT ${RECORD_COLUMNS} FROM (${page}) r ORDER BY r.number;
SELECT ${PAYLOAD_COLUMNS} FROM (${page}) r JOIN ${schema}.payloads p ON p.record = r.number;`)
      const { items, next } = scannedRows(rows, limit, (row) => text(row, 'number'), await recordReader(rows))
      return { items: withPayloads(items, payloads), next }
    },
  }
}

/** Records by number, which is the `place`. */
function withPayloads(records: readonly ScannedRecord[], payloads: readonly Row[]) {
  return records.map((one) => ({
    ...one,
    payloads: payloads.filter((row) => text(row, 'record') === one.place).map(payloadIn),
  }))
}

/** The next events before a place, among `most` rows, and the last row examined. */
function piecesOf(
  { id, filter }: EventScan,
  [atMs, record, lastId]: readonly [string, string, string],
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

/** Leaves out events that are certainly in another state. */
function mayBe(state: string, schema: string): string {
  if (state === 'dead') return `EXISTS (SELECT FROM ${schema}.dead_letters d WHERE d.id = p.id)`
  if (state === 'settled') return `NOT EXISTS (SELECT FROM ${schema}.dead_letters d WHERE d.id = p.id)`
  return `EXISTS (SELECT FROM ${schema}.due d WHERE d.record = p.record)`
}

function eventPlace(row: Row): string {
  return `${text(row, 'admitted_at')}.${text(row, 'record')}.${text(row, 'id')}`
}

function placeIn(place: string | undefined): readonly [string, string, string] | undefined {
  const [, atMs, record, id] = /^(-?\d{1,19})\.(\d{1,19})\.([0-9a-f]*)$/.exec(place ?? '') ?? []
  return atMs === undefined || record === undefined || id === undefined ? undefined : [`(${atMs})`, record, id]
}

function timeOf(ms: number): string {
  return numberValue(Math.ceil(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)))
}
