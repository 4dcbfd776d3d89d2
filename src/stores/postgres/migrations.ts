/**
 * The tables, created and changed by numbered migrations, or returned as text for a role with the privilege. The ledger has a
 * row per migration: of processes that migrate at once, one inserts it, and the others fail and check again. A schema with an
 * unknown migration is refused.
 */
import type { Migrated } from '../sql/connecting.ts'
import { joined, sql, wholeNumber, type Sql } from '../../runtime/sql.ts'
import type { Ask } from '../sql/dialect.ts'
import { EXACT } from '../sql/values.ts'
import { refuseNewer } from '../stored.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Failures } from '../sql/failures.ts'
import type { Connections, Session } from './connections.ts'
import { rowReader, text, truth } from './reading.ts'
import { quoteName } from './statements.ts'
import { hasState, INSUFFICIENT_PRIVILEGE } from './failures.ts'

/**
 * The number of a record grows with time, so the keys of the other tables are appended in order, and retention needs no index
 * of its own. Digests of messages are in one unique index, the only one with entries at random positions. Pages of records stay
 * half free: most records are written again within milliseconds, and a new version in the same page needs no index entries and
 * less log.
 *
 * The tables may exist while the ledger is empty: `pg_dump --schema-only` restores them without rows.
 */
const inbox = (schema: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${schema}.records (
  -- The time of the first event or send of the message in ms, and six more digits.
  number bigint PRIMARY KEY,
  digest bytea NOT NULL,
  -- Random, and another one with each write.
  version bytea NOT NULL,
  -- See codec.ts. The reports have a column of their own, because most writes do not change them.
  state bytea NOT NULL,
  reports bytea NOT NULL,
  send bytea,
  sent_at bigint CHECK (sent_at ${EXACT}),
  overdue_at bigint CHECK (overdue_at ${EXACT}),
  CHECK (sent_at IS NOT NULL OR (send IS NULL AND overdue_at IS NULL))
) WITH (fillfactor = 55, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX IF NOT EXISTS records_by_digest ON ${schema}.records (digest);
CREATE INDEX IF NOT EXISTS records_sent ON ${schema}.records (sent_at, number) WHERE sent_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_overdue ON ${schema}.records (overdue_at) WHERE overdue_at IS NOT NULL;

-- Records with unsettled events. Reserving and leasing a record changes no index entry.
CREATE TABLE IF NOT EXISTS ${schema}.due (
  record bigint PRIMARY KEY,
  -- When the first event is due.
  at bigint NOT NULL CHECK (at ${EXACT}),
  -- When a leased record can be leased again, or the end of the reservation by the process that found it due.
  held_until bigint NOT NULL CHECK (held_until ${EXACT}),
  -- The worker that holds the lease.
  worker bigint,
  -- Number of unsettled events.
  waiting integer NOT NULL CHECK (waiting BETWEEN 0 AND 1000000),
  -- The id of the first event without a lease: its payload is read with the record.
  first bytea
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
CREATE INDEX IF NOT EXISTS due_by_time ON ${schema}.due (at);

CREATE TABLE IF NOT EXISTS ${schema}.payloads (
  record bigint NOT NULL,
  id bytea NOT NULL,
  admitted_at bigint NOT NULL CHECK (admitted_at ${EXACT}),
  -- JSON, as bytes: jsonb refuses NUL and lone surrogates, which a callback may contain.
  event bytea,
  raw bytea,
  -- The error of a dead letter.
  error bytea,
  PRIMARY KEY (record, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX IF NOT EXISTS payloads_by_time ON ${schema}.payloads (admitted_at);

CREATE TABLE IF NOT EXISTS ${schema}.dead_letters (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL,
  record bigint NOT NULL,
  died_at bigint NOT NULL CHECK (died_at ${EXACT})
);
CREATE UNIQUE INDEX IF NOT EXISTS dead_letters_by_id ON ${schema}.dead_letters (id);
CREATE INDEX IF NOT EXISTS dead_letters_by_time ON ${schema}.dead_letters (died_at, seq);

-- One row: the workers and their last heartbeats; see liveness.ts.
CREATE TABLE IF NOT EXISTS ${schema}.workers (
  id integer PRIMARY KEY CHECK (id = 1),
  version bigint NOT NULL,
  list bytea NOT NULL
);
INSERT INTO ${schema}.workers (id, version, list) VALUES (1, 0, '') ON CONFLICT (id) DO NOTHING;
`

/** Numbered from 1. The ledger has a row for each that was applied. */
const MIGRATIONS = [inbox]

/** Whether the schema $1 and its ledger exist, and which tables with the names of this package it contains. */
const FIND_LEDGER = {
  name: 'mw_ledger',
  text: sql`
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1) AS has_schema,
  count(*) FILTER (WHERE c.relname = 'messaging_webhooks_migrations') > 0 AS ledger,
  string_agg(c.relname, ', ' ORDER BY c.relname) FILTER (WHERE c.relname <> 'messaging_webhooks_migrations') AS tables
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1
  AND c.relname IN ('messaging_webhooks_migrations', 'records', 'due', 'payloads', 'dead_letters', 'workers')`,
}

const findVersion = (schema: Sql): Sql =>
  sql`SELECT coalesce(max(version), 0) AS version FROM ${schema}.messaging_webhooks_migrations`

/** Processes that start at the same time wait for the one that migrates. */
const WAIT_MS = 60_000
/** Each attempt fails because another process migrated, or was rolled back while this one waited for it. */
const ATTEMPTS = 10
/** A row, a schema or a table exists: another process was first. */
const EXISTS_ALREADY = ['23505', '42P06', '42P07'] as const

const ledger = (schema: Sql): Sql => sql`
CREATE TABLE IF NOT EXISTS ${schema}.messaging_webhooks_migrations (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
`

/** The migrations after number `from`, as one transaction. Applied twice it fails and changes nothing. */
export function migrationsText(schema: string, from = 0): string {
  return `BEGIN;\n${ddl(schema, from)}COMMIT;\n`
}

/**
 * Inserts the row of the ledger first: this fails at once if the migration was applied already, and waits while another process
 * applies it.
 */
function ddl(name: string, from: number, hasSchema = false): Sql {
  const schema = quoteName(name)
  const steps = MIGRATIONS.slice(from).map((migration, index) => {
    const version = wholeNumber(from + index + 1)
    return sql`
-- Migration ${version}
INSERT INTO ${schema}.messaging_webhooks_migrations (version) VALUES (${version});
${migration(schema)}`
  })
  // Postgres checks the privilege to create schemas before it checks whether the schema exists.
  const made = hasSchema ? sql`` : sql`CREATE SCHEMA IF NOT EXISTS ${schema};\n`
  return joined([...(from === 0 ? [made, ledger(schema)] : []), ...steps], '')
}

/** The columns of each table without a default. */
export function requiredColumns(schema: string) {
  const place = quoteName(schema)
  return [
    [sql`${place}.records`, 'number', 'digest', 'version', 'state', 'reports'],
    [sql`${place}.due`, 'record', 'at', 'held_until', 'waiting'],
    [sql`${place}.payloads`, 'record', 'id', 'admitted_at'],
    [sql`${place}.dead_letters`, 'id', 'record', 'died_at'],
    [sql`${place}.workers`, 'id', 'version', 'list'],
  ] as const
}

/** Updates the schema. Refuses a foreign or newer one and leaves it unchanged. */
export async function migrate(connections: Connections, schema: string, failures: Failures): Promise<Migrated> {
  // Most starts find the schema up to date and need no privilege to create tables.
  const { version: before } = await find(connections.ask, schema)
  if (before === MIGRATIONS.length) return { from: before, to: before }
  const session = await connections.checkOut()
  try {
    const from = await apply(session, schema)
    session.release()
    return { from, to: MIGRATIONS.length }
  } catch (error) {
    // Closing the connection rolls back what was not committed.
    session.release(failures.cleaned(error))
    if (hasState(error, INSUFFICIENT_PRIVILEGE)) {
      const cause = failures.cleaned(error)
      throw new MessagingWebhooksError('store_unmigrated', `The schema is ${quoteName(schema)}.`, { cause })
    }
    throw failures.asThrown(error)
  }
}

/** Reports what `migrate` would do. Changes nothing, and refuses the same schemas. */
export async function pending(connections: Connections, schema: string): Promise<Migrated> {
  const { version: from } = await find(connections.ask, schema)
  return { from, to: MIGRATIONS.length }
}

/**
 * Returns the version before. All migrations go in one round trip, which the server runs in one transaction, so a pooler may use
 * another connection for the next round trip.
 */
async function apply(session: Session, schema: string): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const { version, hasSchema } = await find(session.ask, schema)
    if (version === MIGRATIONS.length) return version
    try {
      await session.script(sql`${SETTINGS}${ddl(schema, version, hasSchema)}`)
      return version
    } catch (error) {
      if (attempt === ATTEMPTS || !EXISTS_ALREADY.some((state) => hasState(error, state))) throw error
    }
  }
}

const SETTINGS = sql`SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL statement_timeout = ${WAIT_MS};
`

/** Throws for a foreign or newer schema. */
async function find(ask: Ask, schema: string) {
  const [found] = await ask(FIND_LEDGER, [schema])
  if (found === undefined || !truth(found, 'ledger')) {
    if (found?.['tables'] != null)
      throw new MessagingWebhooksError(
        'store_foreign',
        `The schema ${quoteName(schema)} has other tables of these names: ${text(found, 'tables')}.`,
      )
    return { version: 0, hasSchema: found !== undefined && truth(found, 'has_schema') }
  }
  const [row] = await ask({ name: 'mw_version', text: findVersion(quoteName(schema)) })
  const version = row === undefined ? 0 : rowReader.integer(row, 'version')
  refuseNewer(`The schema ${quoteName(schema)} has`, version, MIGRATIONS.length)
  return { version, hasSchema: true }
}
