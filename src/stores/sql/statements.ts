/**
 * The statements that the engines share. Each is constant but for the names of tables, and the comment says which index answers
 * it. Digests are hexadecimal digits, bytes are base64, and a batch is one JSON list.
 *
 * The comments use the names of Postgres. MySQL's names lack the table: `by_digest`, `by_time`, `by_id`, and `by_sent` and
 * `by_overdue` for `records_sent` and `records_overdue`. The table `due` of Postgres is part of MySQL's `records`: its index
 * `due_by_time` is `by_due` there, and its key is the key of records.
 */
import { joined, plainName, sql, type Sql } from '../../runtime/sql.ts'
import { named, type Dialect } from './dialect.ts'

/** Limits the rows to examine: so many of the earliest due and of the latest due, instead of a whole backlog. */
const MAX_SWEPT = 50_000

/** The columns of a record `r`, and of a payload `p`, for `RowReader`. */
export function columnsFor({ digest, bytes }: Pick<Dialect, 'digest' | 'bytes'>) {
  const inBytes = (table: 'r' | 'p', names: readonly string[]): Sql =>
    joined(names.map(plainName).map((name) => sql`${bytes(sql`${table}.${name}`)} AS ${name}`))
  return {
    record: sql`r.number, ${digest(sql`r.digest`)} AS digest, r.sent_at, r.overdue_at,
  ${inBytes('r', ['version', 'state', 'reports', 'send'])}`,
    payload: sql`p.record, ${digest(sql`p.id`)} AS id, p.admitted_at, ${inBytes('p', ['event', 'raw', 'error'])}`,
  }
}

export function createStatements(dialect: Dialect) {
  const { tables, due, serverNow, digest, bytes, fromHex, fromBase64, integer, given, comparePair } = dialect
  const { records, payloads, dead_letters: letters, workers } = tables
  const columns = columnsFor(dialect)
  const key = sql`${digest(sql`r.digest`)} AS digest`
  const keys = given(sql`$1`, sql`k`, { digest: 'digest' })

  /** The next $6 events before the place ($1, $2, $3), from $4 on and before $5. payloads_by_time. */
  const newest = sql`ORDER BY admitted_at DESC, record DESC, id DESC`
  const looked = sql`
  SELECT n.*, row_number() OVER (${newest}) AS looked FROM (
    SELECT * FROM ${payloads}
    WHERE admitted_at <= ${integer(sql`$1`)} AND (admitted_at, record, id) < (${integer(sql`$1`)}, ${integer(sql`$2`)}, ${fromHex(sql`$3`)})
      AND admitted_at >= ${integer(sql`$4`)} AND admitted_at < ${integer(sql`$5`)}
    ${newest} LIMIT $6
  ) AS n`
  const isDead = sql`EXISTS (SELECT 1 FROM ${letters} d WHERE d.id = p.id)`
  const isDue = sql`EXISTS (SELECT 1 FROM ${due.table} d WHERE d.${due.record} = p.record AND d.${due.at} IS NOT NULL)`

  const letter = sql`
SELECT ${columns.record}, ${columns.payload}, ${digest(sql`d.id`)} AS id, coalesce(p.admitted_at, d.died_at) AS admitted_at,
  d.died_at, d.seq
FROM ${letters} d JOIN ${records} r ON r.number = d.record
  LEFT JOIN ${payloads} p ON p.record = d.record AND p.id = d.id`

  const sends = (sign: '<' | '>', direction: 'ASC' | 'DESC'): Sql => sql`
SELECT ${columns.record} FROM ${records} r
WHERE r.sent_at >= ${integer(sql`$1`)} AND r.sent_at < ${integer(sql`$2`)} AND ${comparePair([sql`r.sent_at`, sql`r.number`], sign, [sql`$3`, sql`$4`])}
ORDER BY r.sent_at ${direction}, r.number ${direction} LIMIT $5`

  const swept = (direction: 'ASC' | 'DESC'): Sql => sql`
  (SELECT d.${due.record} AS record, d.worker FROM ${due.table} d
  WHERE d.${due.at} IS NOT NULL ORDER BY d.${due.at} ${direction} LIMIT ${MAX_SWEPT})`

  return named({
    /** The records of a list of digests. records_by_digest. */
    read: sql`SELECT ${columns.record} FROM ${keys} JOIN ${records} r ON r.digest = ${fromHex(sql`k.digest`)}`,
    /** The ids of payloads of records with these digests. records_by_digest, key of payloads. */
    payloadIds: sql`
SELECT ${key}, ${digest(sql`p.id`)} AS id
FROM ${keys} JOIN ${records} r ON r.digest = ${fromHex(sql`k.digest`)} JOIN ${payloads} p ON p.record = r.number`,
    /** The payloads of a list of events. records_by_digest, key of payloads. */
    payloads: sql`
SELECT k.place, ${columns.payload}
FROM ${given(sql`$1`, sql`k`, { place: 'integer', digest: 'digest', id: 'digest' })}
  JOIN ${records} r ON r.digest = ${fromHex(sql`k.digest`)}
  JOIN ${payloads} p ON p.record = r.number AND p.id = ${fromHex(sql`k.id`)}`,
    /** Sends that are overdue at $1. records_overdue. */
    overdue: sql`SELECT ${key} FROM ${records} r WHERE r.overdue_at <= ${integer(sql`$1`)} ORDER BY r.overdue_at, r.number LIMIT $2`,
    /** When the next send will be overdue after $1. records_overdue. */
    nextOverdue: sql`SELECT min(r.overdue_at) AS next FROM ${records} r WHERE r.overdue_at > ${integer(sql`$1`)}`,
    /**
     * Reads all rows of `due`: no index contains `waiting`. MySQL finds the records that wait by by_due. Counts dead letters in an
     * index of theirs.
     */
    counts: sql`
SELECT (SELECT coalesce(sum(d.waiting), 0) FROM ${due.table} d WHERE d.${due.at} IS NOT NULL) AS unsettled,
  (SELECT count(*) FROM ${letters}) AS dead_letters`,
    /** Records with numbers above $1 and below $2. Key of records. */
    oldRecords: sql`
SELECT ${key}, r.number FROM ${records} r WHERE r.number > ${integer(sql`$1`)} AND r.number < ${integer(sql`$2`)}
ORDER BY r.number LIMIT $3`,
    /** Dead letters from before $1. dead_letters_by_time, key of records. */
    oldLetters: sql`
SELECT ${key} FROM ${letters} d JOIN ${records} r ON r.number = d.record WHERE d.died_at < ${integer(sql`$1`)}
ORDER BY d.died_at LIMIT $2`,
    /** Payloads from before $1, after the place ($2, $3). payloads_by_time, key of records. */
    oldPayloads: sql`
SELECT ${key}, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM ${payloads}
  WHERE admitted_at < ${integer(sql`$1`)} AND ${comparePair([sql`admitted_at`, sql`record`], '>', [sql`$2`, sql`$3`])}
  ORDER BY admitted_at, record LIMIT $4
) p JOIN ${records} r ON r.number = p.record ORDER BY p.admitted_at, p.record`,
    /** The record with a digest. records_by_digest. */
    record: sql`SELECT ${columns.record} FROM ${records} r WHERE r.digest = ${fromHex(sql`$1`)}`,
    /** Records with numbers above $1. Key of records. */
    records: sql`SELECT ${columns.record} FROM ${records} r WHERE r.number > ${integer(sql`$1`)} ORDER BY r.number LIMIT $2`,
    /** The payloads of a list of records. Key of payloads. */
    payloadsOf: sql`
SELECT ${columns.payload} FROM ${given(sql`$1`, sql`k`, { number: 'bigint' })} JOIN ${payloads} p ON p.record = k.number`,
    /**
     * Of the next $6 events before a place, up to $7 that may match: with the id $8 unless it is empty; with one of the needles in
     * each list of $9; dead ($10), not dead ($11), or of a record that waits ($12), each 1 or 0. See `looked`; keys of records and
     * due, dead_letters_by_id.
     */
    events: sql`
SELECT ${columns.record}, ${columns.payload}, p.looked FROM (${looked}) p JOIN ${records} r ON r.number = p.record
WHERE ($8 = '' OR p.id = ${fromHex(sql`$8`)})
  AND NOT EXISTS (
    SELECT 1 FROM ${given(sql`$9`, sql`n`, { list: 'integer', needle: 'text' })}
    GROUP BY n.list HAVING max(position(${fromBase64(sql`n.needle`)} IN p.event)) = 0)
  AND ((${integer(sql`$10`)} = 1 AND ${isDead}) OR (${integer(sql`$11`)} = 1 AND NOT ${isDead}) OR (${integer(sql`$12`)} = 1 AND ${isDue}))
ORDER BY p.looked LIMIT $7`,
    /** The last of the same $6 events. See `looked`. */
    lastLooked: sql`
SELECT p.admitted_at, p.record, ${digest(sql`p.id`)} AS id, p.looked FROM (${looked}) p ORDER BY p.looked DESC LIMIT 1`,
    /** Dead letters after the place ($1, $2), also those without a payload. dead_letters_by_time, keys of records and payloads. */
    letters: sql`${letter}
WHERE ${comparePair([sql`d.died_at`, sql`d.seq`], '>', [sql`$1`, sql`$2`])} ORDER BY d.died_at, d.seq LIMIT $3`,
    /** One dead letter. dead_letters_by_id, keys of records and payloads. */
    letter: sql`${letter} WHERE d.id = ${fromHex(sql`$1`)}`,
    /** Sends from $1 on and before $2, after or before the place ($3, $4). records_sent. */
    oldestSends: sends('>', 'ASC'),
    newestSends: sends('<', 'DESC'),
    /** The list of workers, in its only row. Key of workers. */
    workers: sql`
SELECT ${serverNow} AS now, w.version, ${bytes(sql`w.list`)} AS list
FROM (SELECT 1) AS one LEFT JOIN ${workers} w ON w.id = 1`,
    /** The workers that hold leases. due_by_time, key of records. */
    leases: sql`
SELECT ${key}, near.worker
FROM (${swept('ASC')} UNION ${swept('DESC')}) near JOIN ${records} r ON r.number = near.record
WHERE near.worker IS NOT NULL`,
    /** The newest record, whether the record $1 exists, and the list of workers. Keys of records and workers. */
    kept: sql`
SELECT ${serverNow} AS now, w.version, ${bytes(sql`w.list`)} AS list,
  (SELECT max(r.number) FROM ${records} r) AS newest,
  (SELECT count(*) FROM ${records} r WHERE r.number = ${integer(sql`$1`)}) AS records
FROM (SELECT 1) AS one LEFT JOIN ${workers} w ON w.id = 1`,
  })
}

export type Statements = ReturnType<typeof createStatements>
