/**
 * The tables, created and changed by numbered migrations, or returned as text for a role with the privilege. The ledger has a
 * row per migration: of processes that migrate at once, one inserts it, and the others fail and check again. A schema with an
 * unknown migration is refused. {schema} is the name of the schema.
 */
import type { Migrated } from '../sql/connecting.ts'
import { EXACT, type Row } from '../sql/values.ts'
import { refuseNewer } from '../stored.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Failures } from '../sql/failures.ts'
import type { Connections, Session } from './connections.ts'
import { integer, quoteName, text, textValue, truth } from './encoding.ts'
import { hasState, INSUFFICIENT_PRIVILEGE } from './failures.ts'

/**
 * The number of a record grows with time, so the keys of the other tables are appended in order, and retention needs no index
 * of its own. Digests of messages are in one unique index, the only one with entries at random positions. Pages of records stay
 * half free: most records are written again within milliseconds, and a new version in the same page needs no index entries and
 * less log.
 */
const INBOX = /* sql */ `
CREATE TABLE {schema}.records (
  -- The time of the first event or send of the message in ms, and six more digits.
  number bigint PRIMARY KEY,
  key bytea NOT NULL,
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
CREATE UNIQUE INDEX records_by_key ON {schema}.records (key);
CREATE INDEX records_sent ON {schema}.records (sent_at, number) WHERE sent_at IS NOT NULL;
CREATE INDEX records_overdue ON {schema}.records (overdue_at) WHERE overdue_at IS NOT NULL;

-- Records with unsettled events. Reserving and leasing a record changes no index entry.
CREATE TABLE {schema}.due (
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
CREATE INDEX due_by_time ON {schema}.due (at);

CREATE TABLE {schema}.payloads (
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
CREATE INDEX payloads_by_time ON {schema}.payloads (admitted_at);

CREATE TABLE {schema}.dead_letters (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL,
  record bigint NOT NULL,
  died_at bigint NOT NULL CHECK (died_at ${EXACT})
);
CREATE UNIQUE INDEX dead_letters_by_id ON {schema}.dead_letters (id);
CREATE INDEX dead_letters_by_time ON {schema}.dead_letters (died_at, seq);

-- One row: the workers and their last heartbeats; see liveness.ts.
CREATE TABLE {schema}.workers (
  id integer PRIMARY KEY CHECK (id = 1),
  version bigint NOT NULL,
  list bytea NOT NULL
);
INSERT INTO {schema}.workers (id, version, list) VALUES (1, 0, '');
`

/** Numbered from 1. The ledger has a row for each that was applied. */
const MIGRATIONS: readonly string[] = [INBOX]

const TABLES = ['records', 'due', 'payloads', 'dead_letters', 'workers'] as const

/** Whether the schema and its ledger exist, and which tables with the names of this package it contains. */
function findLedger(schema: string): string {
  const name = `convert_from(${textValue(schema)}, 'UTF8')`
  return `
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ${name}) AS has_schema,
  count(*) FILTER (WHERE c.relname = 'messaging_webhooks_migrations') > 0 AS ledger,
  string_agg(c.relname, ', ' ORDER BY c.relname) FILTER (WHERE c.relname <> 'messaging_webhooks_migrations') AS tables
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ${name}
  AND c.relname IN ('messaging_webhooks_migrations', ${TABLES.map((table) => `'${table}'`).join(', ')})`
}

const FIND_VERSION = /* sql */ 'SELECT coalesce(max(version), 0) AS version FROM {schema}.messaging_webhooks_migrations'

/** Processes that start at the same time wait for the one that migrates. */
const WAIT_MS = 60_000
/** Each attempt fails because another process migrated, or was rolled back while this one waited for it. */
const ATTEMPTS = 10
/** A row, a schema or a table exists: another process was first. */
const EXISTS_ALREADY = ['23505', '42P06', '42P07'] as const

const LEDGER = /* sql */ `
CREATE TABLE IF NOT EXISTS {schema}.messaging_webhooks_migrations (
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
function ddl(schema: string, from: number, hasSchema = false): string {
  const steps = MIGRATIONS.slice(from).map((migration, index) => {
    const version = from + index + 1
    return `\n-- Migration ${version}\nINSERT INTO {schema}.messaging_webhooks_migrations (version) VALUES (${version});\n${migration}`
  })
  // Postgres checks the privilege to create schemas before it checks whether the schema exists.
  const made = hasSchema ? '' : 'CREATE SCHEMA IF NOT EXISTS {schema};\n'
  return inSchema([from === 0 ? made + LEDGER : '', ...steps].join(''), schema)
}

/** The columns of each table without a default. */
export function requiredColumns(schema: string) {
  const place = quoteName(schema)
  return [
    [`${place}.records`, 'number', 'key', 'version', 'state', 'reports'],
    [`${place}.due`, 'record', 'at', 'held_until', 'waiting'],
    [`${place}.payloads`, 'record', 'id', 'admitted_at'],
    [`${place}.dead_letters`, 'id', 'record', 'died_at'],
    [`${place}.workers`, 'id', 'version', 'list'],
  ] as const
}

/** Updates the schema. Refuses a foreign or newer one and leaves it unchanged. */
export async function migrate(connections: Connections, schema: string, failures: Failures): Promise<Migrated> {
  // Most starts find the schema up to date and need no privilege to create tables.
  const { version: before } = await find(connections.query, schema)
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
  const { version: from } = await find(connections.query, schema)
  return { from, to: MIGRATIONS.length }
}

/**
 * Returns the version before. All migrations go in one round trip, which the server runs in one transaction, so a pooler may use
 * another connection for the next round trip.
 */
async function apply(session: Session, schema: string): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const { version, hasSchema } = await find(async (sql) => (await session.batch(sql))[0] ?? [], schema)
    if (version === MIGRATIONS.length) return version
    try {
      await session.batch(SETTINGS + ddl(schema, version, hasSchema))
      return version
    } catch (error) {
      if (attempt === ATTEMPTS || !EXISTS_ALREADY.some((state) => hasState(error, state))) throw error
    }
  }
}

const SETTINGS =
  'SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ' +
  `SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL statement_timeout = ${WAIT_MS};\n`

type Query = (sql: string) => Promise<readonly Row[]>

/** Throws for a foreign or newer schema. */
async function find(query: Query, schema: string) {
  const [found] = await query(findLedger(schema))
  if (found === undefined || !truth(found, 'ledger')) {
    if (found?.['tables'] != null)
      throw new MessagingWebhooksError(
        'store_foreign',
        `The schema ${quoteName(schema)} has other tables of these names: ${text(found, 'tables')}.`,
      )
    return { version: 0, hasSchema: found !== undefined && truth(found, 'has_schema') }
  }
  const [row] = await query(inSchema(FIND_VERSION, schema))
  const version = row === undefined ? 0 : integer(row, 'version')
  refuseNewer(`The schema ${quoteName(schema)} has`, version, MIGRATIONS.length)
  return { version, hasSchema: true }
}

/** Inserts the schema into a statement without values. */
function inSchema(statement: string, schema: string): string {
  return statement.replaceAll('{schema}', quoteName(schema))
}
