/**
 * The statements that only MySQL has: writes, and the search for what is due. Each is constant but for the names of tables, and the
 * comment says which index answers it. A batch is one JSON list.
 */
import { joined, plainName, sql, type Sql } from '../../runtime/sql.ts'
import { PAYLOAD_COLUMNS, RECORD_COLUMNS } from '../sql/changes.ts'
import { named, type Dialect, type GivenColumns } from '../sql/dialect.ts'
import { columnsFor } from '../sql/statements.ts'
import { RESERVED_MS } from '../stored.ts'
import type { Tables } from './migrations.ts'

/** The server's clock in milliseconds when the statement began, whatever the time zone of the session. */
const SERVER_NOW = sql`TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000`

const TYPES = { integer: 'INT', bigint: 'BIGINT', digest: 'VARCHAR(128)', text: 'LONGTEXT' } as const

export function createDialect(tables: Tables): Dialect {
  return {
    tables,
    due: { table: tables.records, record: sql`number`, at: sql`due_at` },
    serverNow: SERVER_NOW,
    digest: (column) => column,
    bytes: (column) => column,
    fromHex: (text) => sql`UNHEX(${text})`,
    fromBase64: (text) => sql`FROM_BASE64(${text})`,
    integer: (parameter) => sql`CAST(${parameter} AS SIGNED)`,
    given: (parameter, name, columns) => {
      const typed = Object.entries(columns).map(([column, type]) => {
        const name = plainName(column)
        return sql`${name} ${TYPES[type]} PATH '$.${name}'`
      })
      return sql`JSON_TABLE(${parameter}, '$[*]' COLUMNS (${joined(typed)})) AS ${name}`
    },
    // A comparison of rows would not use the index.
    comparePair: ([a, b], sign, [x, y]) =>
      sql`${a} ${sign}= CAST(${x} AS SIGNED) AND (${a} ${sign} CAST(${x} AS SIGNED) OR ${b} ${sign} CAST(${y} AS SIGNED))`,
  }
}

export function createWriteStatements({ tables, given, fromHex, fromBase64, integer, ...dialect }: Dialect) {
  const { records, payloads, dead_letters: letters, workers } = tables
  const columns = columnsFor(dialect)
  const of = (own: GivenColumns): Sql => given(sql`$1`, sql`g`, { number: 'bigint', ...own })
  const ofEvent = of({ id: 'digest' })
  const isThis = (table: Sql): Sql => sql`${table}.record = g.number AND ${table}.id = ${fromHex(sql`g.id`)}`
  /** Records in flight in the process that asks are left out. */
  const others = (parameter: Sql): Sql =>
    sql`r.digest NOT IN (SELECT ${fromHex(sql`k.digest`)} FROM ${given(parameter, sql`k`, { digest: 'digest' })})`
  const now = integer(sql`$1`)
  const isDue = sql`r.due_at <= ${now} AND r.held_until <= ${now} AND ${others(sql`$2`)}`
  const insert = sql`
INSERT INTO ${records}
  (number, digest, version, state, reports, send, sent_at, overdue_at, due_at, held_until, worker, waiting)
SELECT g.number, ${fromHex(sql`g.digest`)}, ${fromBase64(sql`g.version`)}, ${fromBase64(sql`g.state`)}, ${fromBase64(sql`g.reports`)},
  ${fromBase64(sql`g.send`)}, g.sent_at, g.overdue_at, g.due_at, COALESCE(g.held_until, 0), g.worker, COALESCE(g.waiting, 0)
FROM ${of(RECORD_COLUMNS)}`
  const sent = (name: 'send' | 'sent_at' | 'overdue_at'): Sql =>
    sql`${name} = IF(g.changes_send = 1, VALUES(${name}), ${records}.${name})`

  return named({
    /**
     * Locks the records of a list. Of records that do not exist nothing is locked: if another process inserts the same one meanwhile,
     * the insertion is a `Conflict`. by_digest.
     */
    lock: sql`
SELECT ${SERVER_NOW} AS now, r.number, r.digest, r.version
FROM ${given(sql`$1`, sql`k`, { digest: 'digest' })} LEFT JOIN ${records} r FORCE INDEX (by_digest) ON r.digest = ${fromHex(sql`k.digest`)}
FOR UPDATE`,
    /** New records. The key of records and by_digest refuse one that exists. */
    insert,
    /** Known records, which are locked. An UPDATE of joined tables would copy them to a table on the disk. Key of records. */
    update: sql`${insert} ON DUPLICATE KEY UPDATE
  version = VALUES(version), state = VALUES(state), reports = COALESCE(VALUES(reports), ${records}.reports),
  ${joined((['send', 'sent_at', 'overdue_at'] as const).map(sent))},
  due_at = VALUES(due_at), held_until = VALUES(held_until), worker = VALUES(worker), waiting = VALUES(waiting)`,
    /** Payloads. An event may come again after its identity was forgotten. Key of payloads. */
    store: sql`
INSERT INTO ${payloads} (record, id, admitted_at, event, raw, error)
SELECT g.number, ${fromHex(sql`g.id`)}, g.admitted_at,
  ${joined((['event', 'raw', 'error'] as const).map((name) => fromBase64(sql`g.${name}`)))}
FROM ${of({ id: 'digest', ...PAYLOAD_COLUMNS })}
ON DUPLICATE KEY UPDATE
  admitted_at = VALUES(admitted_at), event = VALUES(event), raw = VALUES(raw), error = VALUES(error)`,
    /** The payloads and dead letters of records to remove, and the records. Key of payloads, by_record, key of records. */
    removePayloadsOf: sql`DELETE p FROM ${of({})} STRAIGHT_JOIN ${payloads} p ON p.record = g.number`,
    removeLettersOf: sql`DELETE d FROM ${of({})} STRAIGHT_JOIN ${letters} d ON d.record = g.number`,
    remove: sql`DELETE r FROM ${of({})} STRAIGHT_JOIN ${records} r ON r.number = g.number`,
    /** New dead letters. by_id. */
    addLetters: sql`
INSERT INTO ${letters} (id, record, died_at) SELECT ${fromHex(sql`g.id`)}, g.number, g.died_at
FROM ${of({ id: 'digest', died_at: 'bigint' })} ON DUPLICATE KEY UPDATE record = VALUES(record)`,
    /** The last errors of events that became dead letters. Key of payloads. */
    setErrors: sql`
UPDATE ${of({ id: 'digest', error: 'text' })} STRAIGHT_JOIN ${payloads} p ON ${isThis(sql`p`)}
SET p.error = ${fromBase64(sql`g.error`)}`,
    /** Dead letters that are revived or discarded. by_id. */
    removeLetters: sql`DELETE d FROM ${ofEvent} STRAIGHT_JOIN ${letters} d ON ${isThis(sql`d`)}`,
    /** Payloads to remove. Key of payloads. */
    removePayloads: sql`DELETE p FROM ${ofEvent} STRAIGHT_JOIN ${payloads} p ON ${isThis(sql`p`)}`,
    /** Whether records are due at $1, but for those in $2. Takes no lock, and most polls find nothing. by_due. */
    peek: sql`
SELECT ${SERVER_NOW} AS now,
  (SELECT r.number FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue} ORDER BY r.due_at LIMIT 1) AS first`,
    /** Up to $3 records that are due at $1, but for those in $2. Skips what other processes have locked. by_due. */
    due: sql`
SELECT ${columns.record}, r.due_at, r.number AS due_record FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue}
ORDER BY r.due_at LIMIT $3 FOR UPDATE SKIP LOCKED`,
    /** Locked records. Each exists, so nothing is inserted. Key of records. */
    reserve: sql`
INSERT INTO ${records} (number, digest, version, state) SELECT g.number, '', '', '' FROM ${of({})}
ON DUPLICATE KEY UPDATE held_until = ${SERVER_NOW} + ${RESERVED_MS}`,
    /** Records of a list that do not wait. Key of records. */
    endDue: sql`UPDATE ${of({})} STRAIGHT_JOIN ${records} r ON r.number = g.number SET r.due_at = NULL, r.waiting = 0`,
    /** When something becomes due after $1, and when a reservation or lease of something due ends, but for $2. by_due. */
    nextDue: sql`
SELECT (SELECT MIN(r.due_at) FROM ${records} r WHERE r.due_at > ${now} AND ${others(sql`$2`)}) AS next,
  (SELECT MIN(r.held_until) FROM ${records} r
  WHERE r.due_at <= ${now} AND r.held_until > ${now} AND ${others(sql`$2`)}) AS held`,
    /** Inserts the list of workers with the version $1 and the list $2, if there is none. Key of workers. */
    addWorkers: sql`
INSERT IGNORE INTO ${workers} (id, version, list) VALUES (1, ${integer(sql`$1`)}, ${fromBase64(sql`$2`)})`,
    /** Replaces it by the version $1 and the list $2, if its version is $3. Key of workers. */
    setWorkers: sql`
UPDATE ${workers} SET version = ${integer(sql`$1`)}, list = ${fromBase64(sql`$2`)} WHERE id = 1 AND version = ${integer(sql`$3`)}`,
  })
}
