/**
 * Creates and changes the tables by numbered migrations, or returns them as text for a role with the privilege. The ledger has
 * a row per migration: of processes that migrate at once, one inserts it, and the others fail and check again. A schema with an
 * unknown migration is refused.
 */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Failures } from '../sql/failures.ts'
import { refuseNewer, type Migrated } from '../sql/tables.ts'
import type { Row } from '../sql/rows.ts'
import type { Connections, Session } from './connections.ts'
import { integer, text, textValue, truth } from './encoding.ts'
import { hasState, INSUFFICIENT_PRIVILEGE } from './failures.ts'
import { MIGRATIONS, TABLES } from './migrations.ts'
import { inSchema, quoteName } from './sql-text.ts'

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

interface Found {
  readonly version: number
  readonly hasSchema: boolean
}

type Query = (sql: string) => Promise<readonly Row[]>

/** Throws for a foreign or newer schema. */
async function find(query: Query, schema: string): Promise<Found> {
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
