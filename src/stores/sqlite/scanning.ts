/** Walks through the file for people: in short pieces and for a bounded time, because the thread that walks also accepts callbacks. */
import { monotonicMs } from '../../clock.ts'
import { isFiltered, MOST_LOOKED_AT, needlesOf } from '../../inbox/filters.ts'
import type { EventScan, LocalStore, Payload, Scanned, ScannedEvent, ScannedRecord } from '../../inbox/record-store.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { scanned } from '../pages.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { payloadIn, RECORD_COLUMNS } from './records.ts'
import { cut, integer, prepare, text, type Row } from './statements.ts'

/** Rows that one piece covers. */
const PIECE = 1_000n
/** After so long the walk ends, however far it has come. */
const LOOK_MS = 25
/** Events are admitted in the order of their times, but for processes whose clocks are apart by less. */
const SKEW_MS = 2_000
const BEFORE_ALL = -(2n ** 63n)
const AFTER_ALL = 2n ** 63n - 1n

const PAYLOAD_COLUMNS = `CAST(seq AS TEXT) AS place, lower(hex(id)) AS id, ${cut('admitted_at')} AS admitted_at, record, raw, error`

/** Of one message, and of those that found no room in its record. */
const RECORDS_OF = /* sql */ `
SELECT ${RECORD_COLUMNS} FROM records WHERE key = :key OR of = :key
`

const PAYLOADS_OF = /* sql */ `
SELECT ${PAYLOAD_COLUMNS} FROM payloads WHERE message = :number ORDER BY seq
`

const NEWEST_BEFORE = /* sql */ `
SELECT CAST(seq AS TEXT) AS place FROM payloads WHERE seq < :before ORDER BY seq DESC LIMIT 1
`

/** The oldest one from a place on, and when it was admitted. */
const OLDEST_FROM = /* sql */ `
SELECT CAST(seq AS TEXT) AS place, ${cut('admitted_at')} AS admitted_at FROM payloads WHERE seq >= :from ORDER BY seq LIMIT 1
`

const DEAD_LETTERS = /* sql */ `
SELECT ${RECORD_COLUMNS}, dead_letters.died_at || '.' || dead_letters.seq AS dead_place, payloads.seq AS place,
  lower(hex(dead_letters.id)) AS id, ${cut('admitted_at')} AS admitted_at, record, raw, error
FROM dead_letters JOIN records ON number = dead_letters.message
  JOIN payloads ON payloads.message = number AND payloads.id = dead_letters.id
WHERE (dead_letters.died_at, dead_letters.seq) > (:diedAt, :seq) ORDER BY dead_letters.died_at, dead_letters.seq LIMIT :limit
`

const SENDS = /* sql */ `
SELECT ${RECORD_COLUMNS} FROM records
WHERE sent_at >= :from AND sent_at < :to AND (sent_at, number) > (:sentAt, :after) ORDER BY sent_at, number LIMIT :limit
`

const NEWEST_SENDS = /* sql */ `
SELECT ${RECORD_COLUMNS} FROM records
WHERE sent_at >= :from AND sent_at < :to AND (sent_at, number) < (:sentAt, :after)
ORDER BY sent_at DESC, number DESC LIMIT :limit
`

const RECORDS = /* sql */ `
SELECT ${RECORD_COLUMNS} FROM records WHERE number > :after ORDER BY number LIMIT :limit
`

type Scans = Pick<LocalStore, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

export function createScans({ db }: Database, recordIn: (row: Row) => MessageRecord): Scans {
  const recordsOf = prepare(db, RECORDS_OF)
  const payloadsOf = prepare(db, PAYLOADS_OF)
  const newestBefore = prepare(db, NEWEST_BEFORE)
  const oldestFrom = prepare(db, OLDEST_FROM)
  const deadLetters = prepare(db, DEAD_LETTERS)
  const sends = prepare(db, SENDS)
  const newestSends = prepare(db, NEWEST_SENDS)
  const records = prepare(db, RECORDS)

  function newestSeq(before: bigint): bigint | undefined {
    const place = newestBefore.get({ before })?.['place']
    return typeof place === 'string' ? BigInt(place) : undefined
  }

  /** The first place at which all events may be too young: times follow numbers, so it is found by halves. */
  function placeOf(toMs: number): bigint {
    const first = oldestFrom.get({ from: BEFORE_ALL })
    const newest = newestSeq(AFTER_ALL)
    if (first === undefined || newest === undefined) return AFTER_ALL
    let [low, high] = [BigInt(text(first, 'place')), newest + 1n]
    while (low < high) {
      const middle = (low + high) / 2n
      const row = oldestFrom.get({ from: middle })
      if (row !== undefined && integer(row, 'admitted_at') < toMs + SKEW_MS) low = BigInt(text(row, 'place')) + 1n
      else high = middle
    }
    return low
  }

  /** All of one message, with what was settled and of which only the identity is left. */
  function eventsOf({ key = '', after, limit, isMeant }: EventScan): Scanned<ScannedEvent> {
    const events: Omit<ScannedEvent, 'place'>[] = []
    for (const row of recordsOf.all({ key: digestBytes(key) })) {
      const record = recordIn(row)
      const payloads = payloadsOf.all({ number: integer(row, 'number') }).map(readPayload)
      for (const { id, endedAtMs } of record.settled)
        if (!payloads.some((payload) => payload.id === id))
          events.push({ key: text(row, 'key'), id, atMs: endedAtMs, record, payload: undefined })
      for (const payload of payloads)
        events.push({ key: text(row, 'key'), id: payload.id, atMs: payload.atMs, record, payload })
    }
    const sorted = events.sort((a, b) => b.atMs - a.atMs || (a.id > b.id ? -1 : 1))
    const placed = sorted.map((event, index): ScannedEvent => ({ ...event, place: String(index) }))
    const following = placed.slice(after === undefined ? 0 : Number(after) + 1).filter(isMeant)
    return scanned(following, limit)
  }

  function walk({ after, limit, id, filter, isMeant }: EventScan): Scanned<ScannedEvent> {
    const { fromMs, toMs } = filter
    const needles = needlesOf(filter)
    const rows = prepare(db, eventsWhere(needles, id !== undefined))
    const values: Record<string, Buffer> = id === undefined ? {} : { id: digestBytes(id) }
    for (const [index, needle] of needles.flat().entries()) values[`needle${index}`] = Buffer.from(needle)
    const most = id !== undefined || isFiltered(filter) ? MOST_LOOKED_AT : Infinity
    const untilMs = monotonicMs() + LOOK_MS
    const found: ScannedEvent[] = []
    let before = after === undefined ? (toMs === undefined ? AFTER_ALL : placeOf(toMs)) : BigInt(after)
    for (let looked = 0n; ; looked += PIECE) {
      const newest = newestSeq(before)
      if (newest === undefined) return scanned(found, limit)
      const floor = newest - PIECE + 1n
      const oldest = oldestFrom.get({ from: floor })
      const atMs = oldest === undefined ? 0 : integer(oldest, 'admitted_at')
      for (;;) {
        const piece = rows.all({ ...values, before, floor, limit: limit + 1 })
        for (const row of piece) {
          const event = readEvent(row)
          if (isMeant(event)) found.push(event)
          if (found.length > limit) return scanned(found, limit)
        }
        const last = piece.at(limit)
        if (last === undefined) break
        before = BigInt(text(last, 'place'))
      }
      before = floor
      if (newestSeq(before) === undefined || (fromMs !== undefined && atMs < fromMs - SKEW_MS))
        return scanned(found, limit)
      if (looked + PIECE >= most || monotonicMs() > untilMs)
        return { items: found, next: String(before), lookedBackToMs: atMs }
    }
  }

  function readEvent(row: Row): ScannedEvent {
    const payload = readPayload(row)
    const place = text(row, 'place')
    return { key: text(row, 'key'), id: payload.id, atMs: payload.atMs, place, record: recordIn(row), payload }
  }

  return {
    scanEvents: (scan) => (scan.key === undefined ? walk(scan) : eventsOf(scan)),
    scanDeadLetters({ after, limit }) {
      const [diedAt, seq] = placeIn(after) ?? [BEFORE_ALL, 0n]
      const found = deadLetters.all({ diedAt, seq, limit: limit + 1 })
      return scanned(
        found.map((row) => ({ ...readEvent({ ...row, place: '' }), place: text(row, 'dead_place') })),
        limit,
      )
    },
    scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const [sentAt, last] = placeIn(after) ?? (newestFirst ? [AFTER_ALL, AFTER_ALL] : [BEFORE_ALL, 0n])
      const range = { from: wholeMs(fromMs), to: wholeMs(toMs), sentAt, after: last, limit: limit + 1 }
      const found = (newestFirst ? newestSends : sends).all(range)
      return scanned(
        found.map((row) => readRecord(row, `${integer(row, 'sent_at')}.${integer(row, 'number')}`, [])),
        limit,
      )
    },
    scanRecords({ after, limit }) {
      const found = records.all({ after: after === undefined ? BEFORE_ALL : BigInt(after), limit: limit + 1 })
      return scanned(
        found.map((row) => {
          const number = integer(row, 'number')
          return readRecord(row, String(number), payloadsOf.all({ number }).map(readPayload))
        }),
        limit,
      )
    },
  }

  function readRecord(row: Row, place: string, payloads: readonly Payload[]): ScannedRecord {
    return { key: text(row, 'key'), place, record: recordIn(row), payloads }
  }
}

/** Events by their numbers, newest first; needles are found in bytes before a row is read. */
function eventsWhere(needles: readonly (readonly string[])[], isOne: boolean): string {
  let index = 0
  const found = needles.map(
    (any) => `(${['false', ...any.map(() => `instr(record, :needle${index++}) > 0`)].join(' OR ')})`,
  )
  const conditions = ['seq >= :floor', 'seq < :before', ...(isOne ? ['id = :id'] : []), ...found]
  return /* sql */ `
SELECT ${PAYLOAD_COLUMNS}, ${RECORD_COLUMNS} FROM payloads NOT INDEXED JOIN records ON number = message
WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT :limit
`
}

function readPayload(row: Row): Payload & { readonly atMs: number } {
  return { ...payloadIn(row, text(row, 'id')), atMs: integer(row, 'admitted_at') }
}

function placeIn(place: string | undefined): readonly [at: bigint, number: bigint] | undefined {
  const [, at, number] = /^(-?\d{1,19})\.(-?\d{1,19})$/.exec(place ?? '') ?? []
  return at === undefined || number === undefined ? undefined : [BigInt(at), BigInt(number)]
}

/** As a statement takes it. */
function wholeMs(ms: number): number {
  return Math.floor(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
}
