/**
 * The tables, by numbered migrations. MySQL commits each change of a table by itself, so every statement may be applied twice,
 * and by several processes at once: one that starts after a crash, or beside others, completes what is missing. No lock is held.
 *
 * The number of a record grows with time, so rows of all tables are appended in order, and retention needs no index of its own.
 * Digests of messages are in one unique index, the only one with entries at random positions.
 */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { quotedName, sql, wholeNumber, type Sql } from '../../runtime/sql.ts'
import { EXACT } from '../sql/values.ts'
import { refuseNewer } from '../stored.ts'
import type { Connections } from './connections.ts'
import { nameIn, rowReader } from './reading.ts'

const records = (name: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${name} (
  -- The time of the first event or send of the message in ms, and six more digits.
  number BIGINT NOT NULL PRIMARY KEY,
  digest VARBINARY(64) NOT NULL,
  -- Changes with each write.
  version VARBINARY(16) NOT NULL,
  -- See codec.ts. The reports have a column of their own, because most writes do not change them.
  state LONGBLOB NOT NULL,
  reports LONGBLOB,
  send LONGBLOB,
  sent_at BIGINT CHECK (sent_at ${EXACT}),
  overdue_at BIGINT CHECK (overdue_at ${EXACT}),
  -- Of a record with unsettled events; see dueRowOf. In the same row, so that most writes change one row.
  due_at BIGINT CHECK (due_at ${EXACT}),
  -- It cannot be leased until then: it is leased, or reserved by the process that found it due.
  held_until BIGINT NOT NULL DEFAULT 0 CHECK (held_until ${EXACT}),
  worker BIGINT,
  waiting INT NOT NULL DEFAULT 0 CHECK (waiting BETWEEN 0 AND 1000000),
  UNIQUE KEY by_digest (digest),
  KEY by_sent (sent_at, number),
  KEY by_overdue (overdue_at),
  KEY by_due (due_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const payloads = (name: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${name} (
  record BIGINT NOT NULL,
  id VARBINARY(64) NOT NULL,
  admitted_at BIGINT NOT NULL CHECK (admitted_at ${EXACT}),
  -- JSON, as bytes.
  event LONGBLOB,
  raw LONGBLOB,
  -- Of a dead letter.
  error LONGBLOB,
  PRIMARY KEY (record, id),
  KEY by_time (admitted_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const deadLetters = (name: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${name} (
  seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id VARBINARY(64) NOT NULL,
  record BIGINT NOT NULL,
  died_at BIGINT NOT NULL CHECK (died_at ${EXACT}),
  UNIQUE KEY by_id (id),
  KEY by_record (record),
  KEY by_time (died_at, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const workers = (name: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${name} (
  -- One row: the workers and their last heartbeats; see liveness.ts.
  id INT NOT NULL PRIMARY KEY CHECK (id = 1),
  version BIGINT NOT NULL,
  list LONGBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

/** Numbered from 1. The ledger has a row for each that was applied. */
const MIGRATIONS: readonly ((tables: Tables) => readonly Sql[])[] = [
  (tables) => [
    records(tables.records),
    payloads(tables.payloads),
    deadLetters(tables.dead_letters),
    workers(tables.workers),
  ],
]

const ledger = (name: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${name} (
  version INT NOT NULL PRIMARY KEY,
  applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const NAMES = ['migrations', 'records', 'payloads', 'dead_letters', 'workers'] as const

/** The names of the tables as they appear in statements. */
export type Tables = Readonly<Record<(typeof NAMES)[number], Sql>>

export function tablesOf(prefix: string): Tables {
  const named = (name: string): Sql => quotedName(`${prefix}_${name}`, '`')
  return {
    migrations: named('migrations'),
    records: named('records'),
    payloads: named('payloads'),
    dead_letters: named('dead_letters'),
    workers: named('workers'),
  }
}

/** The statements of the migrations after number `from`. */
function statements(prefix: string, from: number): readonly Sql[] {
  const tables = tablesOf(prefix)
  const steps = MIGRATIONS.slice(from).flatMap((migration, index) => [
    ...migration(tables),
    sql`INSERT IGNORE INTO ${tables.migrations} (version) VALUES (${wholeNumber(from + index + 1)})`,
  ])
  return [ledger(tables.migrations), ...steps]
}

/** The same as text, for someone with the privilege. */
export function migrationsText(prefix: string): string {
  return statements(prefix, 0)
    .map((statement) => `${statement.trim()};\n`)
    .join('\n')
}

/** Creates or changes the tables. Refuses foreign or newer ones and leaves them unchanged. */
export async function migrate(connections: Connections, prefix: string): Promise<void> {
  const version = await findVersion(connections, prefix)
  for (const statement of version === MIGRATIONS.length ? [] : statements(prefix, version)) {
    try {
      await connections.script(statement)
    } catch (error) {
      if (!(error instanceof MessagingWebhooksError) || error.code !== 'store_forbidden') throw error
      const detail = `The tables begin with ${prefix}_.`
      throw new MessagingWebhooksError('store_unmigrated', detail, { cause: error.cause })
    }
  }
  await refuseUntransactional(connections, prefix)
}

/** Of the tables of a JSON list of names, those that exist, and their engines. */
const FIND_TABLES = {
  name: 'mw_tables',
  text: sql`
SELECT t.table_name AS name, t.engine AS engine, e.transactions AS transactions
FROM JSON_TABLE($1, '$[*]' COLUMNS (name VARCHAR(64) PATH '$')) AS k
  JOIN information_schema.tables t ON t.table_schema = DATABASE() AND t.table_name = k.name
  JOIN information_schema.engines e ON e.engine = t.engine
ORDER BY t.table_name`,
}

async function findTables({ ask }: Connections, prefix: string) {
  const rows = await ask(FIND_TABLES, [JSON.stringify(NAMES.map((name) => `${prefix}_${name}`))])
  return rows.map((row) => ({
    name: nameIn(row, 'name'),
    engine: nameIn(row, 'engine'),
    hasTransactions: nameIn(row, 'transactions') !== 'NO',
  }))
}

/** A server may replace the engine that a statement names (`enforce_storage_engine`). */
async function refuseUntransactional(connections: Connections, prefix: string): Promise<void> {
  const unusable = (await findTables(connections, prefix)).filter(({ hasTransactions }) => !hasTransactions)
  const [first] = unusable
  if (first === undefined) return
  const repairs = unusable.map(({ name }) => `ALTER TABLE \`${name}\` ENGINE = InnoDB;`)
  const detail = `The engine is ${first.engine}. Run: ${repairs.join(' ')}`
  throw new MessagingWebhooksError('store_unusable_engine', detail)
}

/** The columns of each table without a default. */
export function requiredColumns(prefix: string) {
  const { records, payloads, dead_letters: deadLetters, workers } = tablesOf(prefix)
  return [
    [records, 'number', 'digest', 'version', 'state'],
    [payloads, 'record', 'id', 'admitted_at'],
    [deadLetters, 'id', 'record', 'died_at'],
    [workers, 'id', 'version', 'list'],
  ] as const
}

/** The number of migrations of this package. */
export const LATEST = MIGRATIONS.length

/** The number of migrations applied. Throws for foreign or newer tables. */
export async function findVersion(connections: Connections, prefix: string): Promise<number> {
  const found = (await findTables(connections, prefix)).map(({ name }) => name)
  if (found.length === 0) return 0
  if (!found.includes(`${prefix}_migrations`)) {
    const detail = `The database has other tables of these names: ${found.toSorted().join(', ')}.`
    throw new MessagingWebhooksError('store_foreign', detail)
  }
  const text = sql`SELECT COALESCE(MAX(version), 0) AS version FROM ${tablesOf(prefix).migrations}`
  const [row] = await connections.ask({ name: 'mw_migrations', text })
  const version = row === undefined ? 0 : rowReader.integer(row, 'version')
  refuseNewer(`The tables ${prefix}_… have`, version, MIGRATIONS.length)
  return version
}
