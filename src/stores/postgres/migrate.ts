/**
 * The tables, made and changed by numbered migrations, and the functions of this package: by one process at a time, or
 * printed for somebody who may. The ledger has a row for each migration, and a schema with one that this package does not
 * know is refused. Functions of other packages beside ours are none of our business, older or newer.
 */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Connections, Session } from './connections.ts'
import { hexOf, integer, text, truth, words, type Row } from './encoding.ts'
import { hasState, INSUFFICIENT_PRIVILEGE, type Failures } from './failures.ts'
import { FUNCTIONS, namesOf, ofSet, type FunctionSet } from './functions/set.ts'
import { INBOX } from './migrations/001-inbox.ts'
import { HOLDERS } from './migrations/002-holders.ts'
import { EXPECTED } from './migrations/003-expected.ts'
import { partitionSteps } from './partitioning.ts'
import { namesPiece, readPrivileges } from './privileges.ts'
import { fill, inSchema, quoteName } from './sql-text.ts'

/**
 * Whether a schema has our ledger, which tables of our names it has, whether its events are in partitions, and which of the
 * functions :names it has. :schema is its name in UTF-8, in hexadecimal.
 */
const FIND_LEDGER = /* sql */ `
SELECT count(*) FILTER (WHERE c.relname = 'messaging_webhooks_migrations') > 0 AS ledger,
  string_agg(c.relname, ', ' ORDER BY c.relname) FILTER (WHERE c.relname <> 'messaging_webhooks_migrations') AS tables,
  count(*) FILTER (WHERE c.relname = 'events' AND c.relkind = 'p') > 0 AS partitioned,
  (SELECT coalesce(array_agg(DISTINCT p.proname::text), '{}')
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = convert_from(decode(:schema, 'hex'), 'UTF8') AND p.proname = ANY (:names)) AS functions
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = convert_from(decode(:schema, 'hex'), 'UTF8')
  AND c.relname IN ('messaging_webhooks_migrations', 'messages', 'events', 'waiting', 'dead_letters', 'latest_time', 'holders')
`

/** How many migrations the schema has. */
const FIND_VERSION = /* sql */ 'SELECT coalesce(max(version), 0) AS version FROM {schema}.messaging_webhooks_migrations'

/** Of how many days its partitions are. */
const FIND_DAYS = /* sql */ 'SELECT days FROM {schema}.partitioning'

/** Numbered from 1; the ledger has a row for each that was applied. */
const MIGRATIONS: readonly string[] = [INBOX, HOLDERS, EXPECTED]

/** Instances that start at once wait for the one that migrates. */
const WAIT_FOR_LOCK_MS = 60_000

const LEDGER = /* sql */ `
CREATE TABLE IF NOT EXISTS {schema}.messaging_webhooks_migrations (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
`

/** The migrations from number `from` + 1 on and the functions, as one transaction; applied twice it changes nothing. */
export function migrationsText(schema: string, from = 0): string {
  return `BEGIN;\n${ddl(schema, from, FUNCTIONS)}COMMIT;\n`
}

/** Partitions for a schema that has all migrations: a transaction a step; applied twice it changes nothing. */
export function partitionsText(schema: string, days: number): string {
  return partitionSteps(schema, days)
    .map((step) => `BEGIN;${step}COMMIT;\n`)
    .join('')
}

/**
 * The row of the ledger comes first: where the migration was applied already, nothing else is. The functions may be there,
 * for a migration need not come with new ones.
 */
function ddl(schema: string, from: number, functions: FunctionSet, partitioned = false): string {
  const steps = MIGRATIONS.slice(from).map((migration, index) => {
    const version = from + index + 1
    return `\n-- Migration ${version}\nINSERT INTO {schema}.messaging_webhooks_migrations (version) VALUES (${version});\n${migration}`
  })
  const lock = `SELECT pg_advisory_xact_lock(${lockNumber(schema)});\n`
  const ledger = from === 0 ? createSchema(schema) + LEDGER : ''
  const made = `\n-- Functions ${functions.number}\n${ofSet(partitioned ? functions.partitioned : functions.text, functions)}`
  return inSchema([lock, ledger, ...steps, made].join(''), schema)
}

/** Postgres asks for the right to make schemas before it looks whether there is one. */
function createSchema(schema: string): string {
  return `DO $messaging_webhooks$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ${nameOf(schema)}) THEN
    CREATE SCHEMA IF NOT EXISTS {schema};
  END IF;
END $messaging_webhooks$;
`
}

/** The name as a value. */
function nameOf(schema: string): string {
  return `convert_from(decode('${hexOf(schema)}', 'hex'), 'UTF8')`
}

/** The lock ends with its transaction, so that it works through a pooler too. */
function lockNumber(schema: string): string {
  return `hashtextextended('messaging-webhooks ' || ${nameOf(schema)}, 0)`
}

/** What was there, and what is there now. */
export interface Migrated {
  readonly from: number
  readonly to: number
  /** All tables were there, and only the functions that this package calls were missing. */
  readonly functionsOnly?: true
  /** Of how many days its partitions are, where its events stand in partitions. */
  readonly partitionDays?: number
}

/** What the schema has, and what of ours it needs. */
interface Found {
  readonly version: number
  readonly hasFunctions: boolean
  readonly partitionDays?: number
}

function migrated({ version: from, hasFunctions, partitionDays }: Found): Migrated {
  const to = MIGRATIONS.length
  const partitions = partitionDays === undefined ? {} : { partitionDays }
  return { from, to, ...(from === to && !hasFunctions ? { functionsOnly: true } : {}), ...partitions }
}

const isUpToDate = ({ version, hasFunctions }: Found): boolean => version === MIGRATIONS.length && hasFunctions

/**
 * Brings the schema up to date. Refuses one that is not ours, or newer, and leaves it as it is. One that is made here has
 * partitions of `days`, where that is given.
 */
export async function migrate(
  connections: Connections,
  schema: string,
  failures: Failures,
  functions = FUNCTIONS,
  days?: number,
): Promise<Migrated> {
  // Most starts find everything done, and need no right to make tables.
  const { unreadable, toMigrate } = await readPrivileges(connections.query, schema, functions)
  if (unreadable !== undefined) throw unreadable
  const before = await find(connections.query, schema, functions)
  if (isUpToDate(before)) return migrated(before)
  const session = await connections.checkOut()
  try {
    const found = await apply(session, schema, functions, days)
    session.release()
    return migrated(found)
  } catch (error) {
    // Whatever the transaction was in the middle of is undone with its connection.
    session.release(failures.cleaned(error))
    if (hasState(error, INSUFFICIENT_PRIVILEGE)) {
      const only = before.version === MIGRATIONS.length ? ' Only the functions of this package are missing.' : ''
      const cause = failures.cleaned(error)
      const said = `The schema is ${quoteName(schema)}.${only}${toMigrate === '' ? '' : ` ${toMigrate}`}`
      throw new MessagingWebhooksError('store_unmigrated', said, { cause })
    }
    throw failures.asThrown(error)
  }
}

/** What `migrate` would do; changes nothing, and refuses what it refuses. */
export async function pending(connections: Connections, schema: string): Promise<Migrated> {
  const { unreadable } = await readPrivileges(connections.query, schema, FUNCTIONS)
  if (unreadable !== undefined) throw unreadable
  return migrated(await find(connections.query, schema, FUNCTIONS))
}

async function apply(session: Session, schema: string, functions: FunctionSet, days?: number): Promise<Found> {
  await session.batch(
    `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${WAIT_FOR_LOCK_MS}; ` +
      `SET LOCAL statement_timeout = ${WAIT_FOR_LOCK_MS};`,
  )
  await session.batch(`SELECT pg_advisory_xact_lock(${lockNumber(schema)});`)
  // Another process may have migrated while we waited.
  const found = await find(async (sql) => (await session.batch(sql))[0] ?? [], schema, functions)
  const { version, partitionDays } = found
  if (!isUpToDate(found)) await session.batch(ddl(schema, version, functions, partitionDays !== undefined))
  const isNew = version === 0 && days !== undefined
  if (isNew) for (const step of partitionSteps(schema, days, functions)) await session.batch(step)
  await session.batch('COMMIT;')
  return isNew ? { ...found, partitionDays: days } : found
}

type Query = (sql: string) => Promise<readonly Row[]>

/** Throws for a schema that is not ours, or newer. */
async function find(query: Query, schema: string, functions: FunctionSet): Promise<Found> {
  const [found] = await query(fill(FIND_LEDGER, { schema: hexOf(schema), names: namesPiece(functions) }))
  if (found === undefined || !truth(found, 'ledger')) {
    if (found?.['tables'] != null)
      throw new MessagingWebhooksError(
        'store_foreign',
        `The schema ${quoteName(schema)} has other tables of these names: ${text(found, 'tables')}.`,
      )
    return { version: 0, hasFunctions: false }
  }
  const [row] = await query(inSchema(FIND_VERSION, schema))
  const version = row === undefined ? 0 : integer(row, 'version')
  if (version > MIGRATIONS.length)
    throw new MessagingWebhooksError(
      'store_newer',
      `The schema ${quoteName(schema)} has version ${version}; this package knows ${MIGRATIONS.length}.`,
    )
  const isPartitioned = truth(found, 'partitioned')
  const known = words(found, 'functions')
  const hasFunctions = namesOf(functions, isPartitioned).every((name) => known.includes(name))
  if (!isPartitioned) return { version, hasFunctions }
  const [partitioning] = await query(inSchema(FIND_DAYS, schema))
  return { version, hasFunctions, partitionDays: partitioning === undefined ? 1 : integer(partitioning, 'days') }
}
