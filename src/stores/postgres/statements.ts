/**
 * The statements that only Postgres has: writes, and the search for what is due. Each is constant but for the names of tables, and
 * the comment says which index answers it. A batch is one JSON list. Each statement that writes decides by itself which changes apply,
 * and writes all of a change.
 */
import { joined, plainName, quotedName, sql, type Sql } from '../../runtime/sql.ts'
import { PAYLOAD_COLUMNS, RECORD_COLUMNS } from '../sql/changes.ts'
import { named, type Dialect, type GivenColumns } from '../sql/dialect.ts'
import { columnsFor } from '../sql/statements.ts'
import { RESERVED_MS } from '../stored.ts'
import { MAX_APART_MS } from '../server-time.ts'

/** The server's clock in milliseconds, the same in the whole statement. */
const SERVER_NOW = sql`(extract(epoch FROM statement_timestamp()) * 1000)::bigint`

/** Makes the commit wait for the disk, whatever the server, the role or the session says now. */
const ON_DISK = sql`CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`
/** A reservation may be lost in a crash of the server. */
const SOON_ON_DISK = sql`set_config('synchronous_commit', 'off', true)`

/** Answers which changes applied. */
const APPLIED = sql`SELECT coalesce(string_agg(place::text, ' '), '') AS applied, ${SERVER_NOW} AS now, ${ON_DISK}`

const DUE = sql`held_until, worker, waiting, first`
const CONTENT = ['event', 'raw', 'error'] as const

function fromExcluded(names: readonly string[]): Sql {
  return joined(names.map(plainName).map((name) => sql`${name} = excluded.${name}`))
}

export function quoteName(name: string): Sql {
  return quotedName(name, '"')
}

/** `schema`: quoted. */
export function createDialect(schema: Sql): Dialect {
  return {
    tables: {
      records: sql`${schema}.records`,
      payloads: sql`${schema}.payloads`,
      dead_letters: sql`${schema}.dead_letters`,
      workers: sql`${schema}.workers`,
    },
    due: { table: sql`${schema}.due`, record: sql`record`, at: sql`at` },
    serverNow: SERVER_NOW,
    digest: (column) => sql`encode(${column}, 'hex')`,
    bytes: (column) => sql`encode(${column}, 'base64')`,
    fromHex: (text) => sql`decode(${text}, 'hex')`,
    fromBase64: (text) => sql`decode(${text}, 'base64')`,
    integer: (parameter) => sql`${parameter}::bigint`,
    given: (parameter, name, columns) => {
      const typed = Object.entries(columns).map(
        ([column, type]) => sql`${plainName(column)} ${type === 'digest' ? 'text' : type}`,
      )
      return sql`json_to_recordset(${parameter}) AS ${name} (${joined(typed)})`
    },
    comparePair: ([a, b], sign, [x, y]) => sql`(${a}, ${b}) ${sign} (${x}::bigint, ${y}::bigint)`,
  }
}

export function createWriteStatements({ tables, due, given: listed, fromHex, fromBase64, ...dialect }: Dialect) {
  const { records, payloads, dead_letters: letters, workers } = tables
  const columns = columnsFor(dialect)
  const bytesOf = (names: typeof CONTENT): Sql =>
    joined(names.map((name) => sql`${fromBase64(sql`g.${name}`)} AS ${name}`))

  /** The changes in $1, unless the clock is far from $2, the time by which they were decided. */
  const given = (own: GivenColumns, values: Sql): Sql => sql`given AS MATERIALIZED (
  SELECT g.place, ${values}, ${fromHex(sql`g.digest`)} AS digest, ${fromBase64(sql`g.version`)} AS version,
    ${fromBase64(sql`g.state`)} AS state, ${fromBase64(sql`g.reports`)} AS reports,
    ${fromBase64(sql`g.send`)} AS send, g.sent_at, g.overdue_at, g.changes_send,
    g.due_at, g.held_until, g.worker, g.waiting, ${fromHex(sql`g.first`)} AS first,
    ${fromHex(sql`g.id`)} AS id, g.admitted_at, ${bytesOf(CONTENT)}
  FROM ${listed(sql`$1`, sql`g`, { place: 'integer', ...own, ...RECORD_COLUMNS, id: 'digest', ...PAYLOAD_COLUMNS })}
  WHERE abs(${SERVER_NOW} - $2) <= ${MAX_APART_MS}
)`
  const made = sql`
  INSERT INTO ${records} (number, digest, version, state, reports, send, sent_at, overdue_at)
  SELECT number, digest, version, state, reports, send, sent_at, overdue_at FROM given`
  const changed = sql`
  UPDATE ${records} r SET version = g.version, state = g.state, reports = coalesce(g.reports, r.reports),
    send = CASE g.changes_send WHEN 1 THEN g.send ELSE r.send END,
    sent_at = CASE g.changes_send WHEN 1 THEN g.sent_at ELSE r.sent_at END,
    overdue_at = CASE g.changes_send WHEN 1 THEN g.overdue_at ELSE r.overdue_at END
  FROM given g WHERE r.digest = g.digest AND r.version = g.expected`
  const ended = sql`ended AS (
  DELETE FROM ${due.table} d USING applied a WHERE d.record = a.number AND a.due_at IS NULL
)`
  const update = sql`${given({ expected: 'text' }, sql`${fromBase64(sql`g.expected`)} AS expected`)}, applied AS (${changed}
  RETURNING r.number, g.place, g.due_at, g.held_until, g.worker, g.waiting, g.first,
    g.id, g.admitted_at, ${joined(CONTENT.map((name) => sql`g.${name}`))}
), ${ended}`
  const queued = (from: Sql): Sql => sql`
  INSERT INTO ${due.table} (record, at, ${DUE}) SELECT number, due_at, ${DUE} FROM ${from} WHERE due_at IS NOT NULL`
  const stored = (from: Sql): Sql => sql`
  INSERT INTO ${payloads} (record, id, admitted_at, ${joined(CONTENT.map(plainName))})
  SELECT number, id, admitted_at, ${joined(CONTENT.map(plainName))} FROM ${from} WHERE id IS NOT NULL`
  /** Compares with a hash table. Without IS TRUE it would be a join. */
  const isMade = sql`(number IN (SELECT number FROM made)) IS TRUE`

  /** The records of a list of digests: those in flight in the process that asks. */
  const others = sql`ARRAY(SELECT x.number FROM ${listed(sql`$3`, sql`k`, { digest: 'digest' })} JOIN ${records} x ON x.digest = ${fromHex(sql`k.digest`)})`

  return named({
    /** New records with their first payloads. records_by_digest decides which are new. */
    insert: sql`
WITH ${given({ number: 'bigint' }, sql`g.number`)}, made AS (${made}
  ON CONFLICT DO NOTHING RETURNING number
), queued AS (${queued(sql`given`)} AND ${isMade}
), stored AS (${stored(sql`given`)} AND ${isMade}
)
${APPLIED} FROM given WHERE ${isMade}`,
    /** Known records that are in the table of what is due already, or leave it. records_by_digest, key of due. */
    update: sql`
WITH ${update}, moved AS (
  UPDATE ${due.table} d SET at = a.due_at, held_until = a.held_until, worker = a.worker, waiting = a.waiting, first = a.first
  FROM applied a WHERE d.record = a.number AND a.due_at IS NOT NULL
)
${APPLIED} FROM applied`,
    /** Known records with payloads. An event may come again after its identity was forgotten. records_by_digest, keys. */
    report: sql`
WITH ${update}, queued AS (${queued(sql`applied`)}
  ON CONFLICT (record) DO UPDATE SET ${fromExcluded(['at', 'held_until', 'worker', 'waiting', 'first'])}
), stored AS (${stored(sql`applied`)}
  ON CONFLICT (record, id) DO UPDATE SET ${fromExcluded(['admitted_at', ...CONTENT])}
)
${APPLIED} FROM applied`,
    /**
     * New and known records with any changes of payloads and dead letters, in $3 by what happens: store, fail, remove, letter,
     * revive. A record that was unreadable loses its dead letters, of which there are few. records_by_digest, keys, dead_letters_by_id.
     */
    rewrite: sql`
WITH ${given({ number: 'bigint', expected: 'text', replaces: 'integer' }, sql`g.number, g.replaces, ${fromBase64(sql`g.expected`)} AS expected`)}, made AS (${made}
  WHERE expected IS NULL ON CONFLICT DO NOTHING RETURNING number
), changed AS (${changed}
  RETURNING r.number, g.place, g.replaces, g.due_at, g.held_until, g.worker, g.waiting, g.first
), applied AS (
  SELECT * FROM changed UNION ALL
  SELECT number, place, replaces, due_at, ${DUE} FROM given WHERE expected IS NULL AND ${isMade}
), ${ended}, queued AS (${queued(sql`applied`)}
  ON CONFLICT (record) DO UPDATE SET ${fromExcluded(['at', 'held_until', 'worker', 'waiting', 'first'])}
), beside AS MATERIALIZED (
  SELECT a.number, g.what, ${fromHex(sql`g.id`)} AS id, g.admitted_at, g.died_at, ${bytesOf(CONTENT)}
  FROM ${listed(sql`$3`, sql`g`, { place: 'integer', what: 'text', id: 'digest', died_at: 'bigint', ...PAYLOAD_COLUMNS })}
    JOIN applied a ON a.place = g.place
), stored AS (${stored(sql`beside`)} AND what = 'store'
  ON CONFLICT (record, id) DO UPDATE SET ${fromExcluded(['admitted_at', ...CONTENT])}
), failed AS (
  UPDATE ${payloads} p SET error = b.error FROM beside b WHERE b.what = 'fail' AND p.record = b.number AND p.id = b.id
), removed AS (
  DELETE FROM ${payloads} p USING beside b WHERE b.what = 'remove' AND p.record = b.number AND p.id = b.id
), dropped AS (
  DELETE FROM ${letters} d USING applied a WHERE a.replaces = 1 AND d.record = a.number
), lettered AS (
  INSERT INTO ${letters} (id, record, died_at) SELECT id, number, died_at FROM beside WHERE what = 'letter'
  ON CONFLICT DO NOTHING
), revived AS (
  DELETE FROM ${letters} d USING beside b WHERE b.what = 'revive' AND d.id = b.id
)
${APPLIED} FROM applied`,
    /** Records to remove, with their payloads and dead letters, of which there are few. records_by_digest, key of payloads. */
    remove: sql`
WITH applied AS (
  DELETE FROM ${records} r USING ${listed(sql`$1`, sql`g`, { place: 'integer', digest: 'digest', expected: 'text' })}
  WHERE r.digest = ${fromHex(sql`g.digest`)} AND r.version = ${fromBase64(sql`g.expected`)}
    AND abs(${SERVER_NOW} - $2) <= ${MAX_APART_MS}
  RETURNING r.number, g.place
), payloads_gone AS (
  DELETE FROM ${payloads} p USING applied a WHERE p.record = a.number
), letters_gone AS (
  DELETE FROM ${letters} d USING applied a WHERE d.record = a.number
)
${APPLIED} FROM applied`,
    /**
     * Finds up to $2 records that are due at $1, but for those in $3, and reserves them. Reads them with the payload that will
     * probably run. The lock is on the current row, but the record is read as of the start of the statement. due_by_time, keys.
     */
    due: sql`
WITH found AS MATERIALIZED (
  SELECT d.at, d.record, d.first FROM ${due.table} d
  WHERE d.at <= $1 AND d.held_until <= $1 AND d.record <> ALL (${others})
  ORDER BY d.at LIMIT $2 FOR UPDATE SKIP LOCKED
), reserved AS (
  UPDATE ${due.table} d SET held_until = ${SERVER_NOW} + ${RESERVED_MS}
  WHERE d.record = ANY (ARRAY(SELECT record FROM found))
)
SELECT times.now, times.next, found.at AS due_at, found.record AS due_record, ${columns.record}, ${columns.payload}
FROM (
  SELECT ${SERVER_NOW} AS now, ${SOON_ON_DISK}, CASE WHEN (SELECT count(*) FROM found) < $2 THEN least(
    (SELECT min(d.at) FROM ${due.table} d WHERE d.at > $1),
    (SELECT min(d.held_until) FROM ${due.table} d WHERE d.at <= $1 AND d.held_until > $1)
  ) END AS next
) AS times LEFT JOIN (
  found LEFT JOIN ${records} r ON r.number = found.record
  LEFT JOIN ${payloads} p ON p.record = found.record AND p.id = found.first
) ON true ORDER BY found.at`,
    /** Rows of $1 whose records do not wait, and which are reserved after $2. Key of due. */
    endDue: sql`
DELETE FROM ${due.table} d USING ${listed(sql`$1`, sql`g`, { number: 'bigint' })} WHERE d.record = g.number AND d.held_until > $2`,
    /** Replaces the list of workers with the version $1 and the list $2, if its version is $3. Key of workers. */
    setWorkers: sql`
INSERT INTO ${workers} AS w (id, version, list) VALUES (1, $1, ${fromBase64(sql`$2`)})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, list = excluded.list WHERE w.version = $3
RETURNING w.id, ${ON_DISK}`,
  })
}
