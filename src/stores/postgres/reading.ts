/** What is asked of the database and changes nothing in it. */
import { damagedRecord, LAST_TIME_MS, readRecord, type EventRecord } from '../../inbox/record.ts'
import { MOST_FINALS } from '../../inbox/latest.ts'
import type { OpenStore, StoredDeadLetter } from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import { bytes, bytesOrNone, integer, placeBy, text, truth, within, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { expectedIn } from './expecting.ts'

/**
 * The reports of a message by its key ($1, hex) that make its latest state: the one with the greatest order and, of the
 * final ones, the $2 with the greatest. They come by order; `newest` marks the $3 with the greatest of all. What is no
 * order does not count.
 */
const LATEST = /* sql */ `
WITH reports AS (
  SELECT e.id, e.ord, e.final, e.record, encode(m.expected, 'hex') AS sent, coalesce(m.overdue_at = 0, false) AS was_overdue
  FROM {schema}.messages m JOIN {schema}.events e ON e.message = m.id
  WHERE m.key = decode($1::text, 'hex') AND {schema}.is_order_{set}(e.ord) AND e.record IS NOT NULL
), newest AS (
  SELECT * FROM reports ORDER BY ord DESC LIMIT $3::integer
), finals AS (
  SELECT * FROM reports WHERE final ORDER BY ord DESC LIMIT $2::integer
)
SELECT final, id IN (SELECT id FROM newest) AS newest, encode(record, 'hex') AS record, sent, was_overdue
FROM (SELECT * FROM newest UNION SELECT * FROM finals) AS wanted ORDER BY ord
`

/** A page of dead letters, oldest first, whatever is left of their events: $1 and $2 are the last one's time and number, $3 how many. */
const DEAD_LETTERS = /* sql */ `
SELECT d.seq, encode(d.id, 'hex') AS id, d.attempts, encode(d.error, 'hex') AS error, d.ended_at,
  encode(e.record, 'hex') AS record, encode(e.raw, 'hex') AS raw,
  encode(m.expected, 'hex') AS sent, coalesce(m.overdue_at = 0, false) AS was_overdue
FROM {schema}.dead_letters d LEFT JOIN {schema}.messages m ON m.id = d.message LEFT JOIN {schema}.events e ON e.message = d.message AND e.id = d.id
WHERE (d.ended_at, d.seq) > ($1::bigint, $2::bigint) ORDER BY d.ended_at, d.seq LIMIT $3::integer
`

/** How much is unsettled and dead: each has a table of its own. */
const COUNTS =
  /* sql */ 'SELECT (SELECT count(*) FROM {schema}.waiting) AS unsettled, (SELECT count(*) FROM {schema}.dead_letters) AS dead'

/** How many of the newest are looked through for one that can be read, where the newest cannot. */
const MOST_UNREADABLE = 1_000
const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})$/
/** Before all, whatever their time and number are. */
const BEFORE_ALL = '-9223372036854775808'

export function createReading({ connections, sql }: Engine): Pick<OpenStore, 'latest' | 'deadLetters' | 'counts'> {
  const latest = sql(LATEST)
  const deadLetters = sql(DEAD_LETTERS)
  const counts = sql(COUNTS)
  return {
    async latest(messageKey) {
      for (const among of [1, MOST_UNREADABLE]) {
        const rows = await connections.query(latest, [messageKey, MOST_FINALS, among])
        const record = newestOf(rows)
        if (record === undefined) continue
        const finals = rows.filter((row) => truth(row, 'final')).map((row) => readRecord(bytes(row, 'record')))
        const expected = rows[0] && expectedIn(rows[0], 'sent')
        return { record, finals: finals.filter((final) => final !== undefined), ...(expected && { expected }) }
      }
      return undefined
    },
    async deadLetters({ after, limit }) {
      const [, endedAt = BEFORE_ALL, seq = BEFORE_ALL] = CURSOR.exec(after ?? '') ?? []
      const rows = await connections.query(deadLetters, [endedAt, seq, limit + 1])
      return pageOf(rows, limit, readDeadLetter, placeBy('ended_at', 'seq'))
    },
    async counts() {
      const [row] = await connections.query(counts)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead') }
    },
  }
}

/** By order they come, the greatest last. */
function newestOf(rows: readonly Row[]): EventRecord | undefined {
  for (const row of rows.toReversed()) {
    const record = truth(row, 'newest') ? readRecord(bytes(row, 'record')) : undefined
    if (record !== undefined) return record
  }
  return undefined
}

function readDeadLetter(row: Row): StoredDeadLetter {
  const diedAtMs = within(row, 'ended_at', LAST_TIME_MS, 0)
  const json = bytesOrNone(row, 'record')
  const raw = bytesOrNone(row, 'raw')
  const expected = expectedIn(row, 'sent')
  return {
    ...(expected && { expected }),
    id: text(row, 'id'),
    attempts: within(row, 'attempts', Number.MAX_SAFE_INTEGER, 0),
    error: bytes(row, 'error').toString('utf8'),
    diedAtMs,
    record: (raw === undefined ? undefined : readRecord(json)) ?? damagedRecord(json, diedAtMs),
    raw: raw ?? Buffer.alloc(0),
  }
}
