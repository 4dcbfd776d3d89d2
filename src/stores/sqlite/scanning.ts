/** Scans for people: in short pieces and for a limited time, because the same thread admits callbacks. */
import { monotonicMs } from '../../runtime/clock.ts'
import { isFiltered, MAX_EXAMINED, needlesOf } from '../../inbox/lists.ts'
import type { Page } from '../../inbox/store.ts'
import type { MessageRecord } from '../../messages/record.ts'
import type { EventScan, Indexes, ScannedEvent, ScannedRecord } from '../engine.ts'
import { scanned, scannedRows } from '../pages.ts'
import { eventsOf } from '../stored.ts'
import type { Database } from './database.ts'
import { cut, digestBytes, integer, text, type Row } from './encoding.ts'
import { CONTENT, FIND, PAYLOAD_COLUMNS, payloadIn, PAYLOADS_OF, RECORD_COLUMNS } from './records.ts'
import { sql, type Sql } from '../../runtime/sql.ts'

/** Rows of a filtered list per piece. */
const PIECE = 200
const LOOK_MS = 25
/** Events are in the order of time, within the difference of the clocks of processes. */
const SKEW_MS = 2_000
const BEFORE_ALL = -Number.MAX_SAFE_INTEGER
const AFTER_ALL = Number.MAX_SAFE_INTEGER

const ADMITTED_AT = sql`${cut(sql`admitted_at`)} AS admitted_at`

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

export function createScans({ db }: Database, recordIn: (row: Row) => MessageRecord): Scans {
  const prepare = (text: Sql) => db.prepare(text)
  const find = prepare(FIND)
  const events = prepare(EVENTS)
  const payloadsOf = prepare(PAYLOADS_OF)
  /**
   * The oldest of the next payloads before a position, and their number. SQLite takes the other columns from the row with the
   * minimum.
   */
  const pieceBefore = prepare(sql`
SELECT count(*) AS count, coalesce(min(seq), 0) AS seq, coalesce(${cut(sql`admitted_at`)}, 0) AS admitted_at
FROM (SELECT seq, admitted_at FROM payloads WHERE seq < ? ORDER BY seq DESC LIMIT ?)`)
  const oldestFrom = prepare(sql`SELECT seq, ${ADMITTED_AT} FROM payloads WHERE seq >= ? ORDER BY seq LIMIT 1`)
  /** Includes dead letters without a payload, so that they can be discarded. */
  const deadLetters = prepare(sql`
SELECT ${RECORD_COLUMNS}, died_at || '.' || dead_letters.seq AS place, lower(hex(dead_letters.id)) AS id,
  ${cut(sql`coalesce(admitted_at, died_at)`)} AS admitted_at, ${CONTENT}
FROM dead_letters JOIN records ON number = dead_letters.message
  LEFT JOIN payloads ON payloads.message = number AND payloads.id = dead_letters.id
WHERE (died_at, dead_letters.seq) > (?, ?) ORDER BY died_at, dead_letters.seq LIMIT ? + 1`)
  const deadLetter = prepare(sql`
SELECT ${RECORD_COLUMNS}, died_at || '.' || dead_letters.seq AS place, lower(hex(dead_letters.id)) AS id,
  ${cut(sql`coalesce(admitted_at, died_at)`)} AS admitted_at, ${CONTENT}
FROM dead_letters JOIN records ON number = dead_letters.message
  LEFT JOIN payloads ON payloads.message = number AND payloads.id = dead_letters.id
WHERE dead_letters.id = ?`)
  const sends = prepare(sendsWhere('>', 'ASC'))
  const newestSends = prepare(sendsWhere('<', 'DESC'))
  const records = prepare(sql`SELECT ${RECORD_COLUMNS} FROM records WHERE number > ? ORDER BY number LIMIT ? + 1`)

  /** The first position with only events after `toMs`. Times grow with numbers, so a binary search finds it. */
  function firstAfter(toMs: number): number {
    let [low, high] = [0, AFTER_ALL]
    while (low < high) {
      const from = low + Math.floor((high - low) / 2)
      const oldest = oldestFrom.get(from)
      if (oldest !== undefined && integer(oldest, 'admitted_at') < toMs + SKEW_MS) low = integer(oldest, 'seq') + 1
      else high = from
    }
    return low
  }

  function walk({ after, limit, id, filter, isWanted }: EventScan): Page<ScannedEvent> {
    const { fromMs = -Infinity, toMs } = filter
    const sought = [id === undefined ? null : digestBytes(id), JSON.stringify(needlesOf(filter))]
    const isBounded = id !== undefined || isFiltered(filter)
    const piece = isBounded ? PIECE : limit + 1
    const untilMs = monotonicMs() + LOOK_MS
    const found: ScannedEvent[] = []
    let before = after === undefined ? (toMs === undefined ? AFTER_ALL : firstAfter(toMs)) : Number(after)
    for (let looked = piece; ; looked += piece) {
      const end = pieceBefore.get(before, piece) ?? {}
      const [floor, atMs] = [integer(end, 'seq'), integer(end, 'admitted_at')]
      for (const row of events.all(floor, before, ...sought)) {
        const event = readEvent(row)
        if (isWanted(event)) found.push(event)
        if (found.length > limit) return scanned(found, limit)
      }
      before = floor
      if (integer(end, 'count') < piece || atMs < fromMs - SKEW_MS) return scanned(found, limit)
      if ((isBounded && looked >= MAX_EXAMINED) || monotonicMs() > untilMs)
        return { items: found, next: String(before), lookedBackToMs: atMs }
    }
  }

  function readEvent(row: Row, place = text(row, 'place')): ScannedEvent {
    const { admittedAtMs, ...payload } = payloadIn(row)
    return { key: text(row, 'key'), id: payload.id, atMs: admittedAtMs, place, record: recordIn(row), payload }
  }

  function readRecord(row: Row, place: string): ScannedRecord {
    return { key: text(row, 'key'), place, record: recordIn(row), payloads: [] }
  }

  function readWithPayloads(row: Row) {
    const place = String(integer(row, 'number'))
    return { ...readRecord(row, place), payloads: payloadsOf.all(Number(place)).map(payloadIn) }
  }

  return {
    scanEvents(scan) {
      if (scan.key === undefined) return walk(scan)
      const row = find.get(digestBytes(scan.key))
      const found = row && readWithPayloads(row)
      return found === undefined ? { items: [] } : eventsOf(found, scan)
    },
    scanDeadLetters({ after, limit, id }) {
      if (id !== undefined) {
        const row = deadLetter.get(digestBytes(id))
        return { items: row === undefined ? [] : [readEvent(row)] }
      }
      const [diedAt, seq] = positionIn(after) ?? [BEFORE_ALL, 0]
      return scannedRows(deadLetters.all(diedAt, seq, limit), limit, (row) => text(row, 'place'), readEvent)
    },
    scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const [sentAt, number] = positionIn(after) ?? (newestFirst ? [AFTER_ALL, AFTER_ALL] : [BEFORE_ALL, 0])
      const range = [Math.max(fromMs, BEFORE_ALL), Math.min(toMs, AFTER_ALL)]
      const rows = (newestFirst ? newestSends : sends).all(...range, sentAt, number, limit)
      return scannedRows(rows, limit, (row) => `${integer(row, 'sent_at')}.${integer(row, 'number')}`, readRecord)
    },
    scanRecords({ after, limit }) {
      const rows = records.all(after === undefined ? BEFORE_ALL : Number(after), limit)
      return scannedRows(rows, limit, (row) => String(integer(row, 'number')), readWithPayloads)
    },
  }
}

/**
 * Events of a piece, newest first: from a number on and before another, with an id unless it is null, and with one of the needles
 * in each list. Searches the bytes before reading a row.
 */
const EVENTS = sql`
SELECT CAST(seq AS TEXT) AS place, ${PAYLOAD_COLUMNS}, ${RECORD_COLUMNS} FROM payloads NOT INDEXED
  JOIN records ON number = message
WHERE seq >= ? AND seq < ? AND id = coalesce(?, id) AND NOT EXISTS (
  SELECT 1 FROM json_each(?) AS list WHERE NOT EXISTS (
    SELECT 1 FROM json_each(list.value) AS needle WHERE instr(record, CAST(needle.value AS BLOB)) > 0))
ORDER BY seq DESC`

function sendsWhere(follows: '<' | '>', direction: 'ASC' | 'DESC'): Sql {
  return sql`
SELECT ${RECORD_COLUMNS} FROM records
WHERE sent_at >= ? AND sent_at < ? AND (sent_at, number) ${follows} (?, ?)
ORDER BY sent_at ${direction}, number ${direction} LIMIT ? + 1
`
}

function positionIn(place: string | undefined): readonly [at: number, number: number] | undefined {
  const [, at, number] = /^(-?\d{1,19})\.(-?\d{1,19})$/.exec(place ?? '') ?? []
  return at === undefined || number === undefined ? undefined : [Number(at), Number(number)]
}
