/** The tables: made and changed by numbered migrations, by one process at a time, or printed for somebody who may. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Connections, Session } from './connections.ts'
import { hexOf } from './encoding.ts'
import { hasState, type Failures } from './failures.ts'
import { INBOX } from './migrations/001-inbox.ts'
import { integer, text, truth, type Row } from './row.ts'
import { fill, inSchema, quoteName } from './sql-text.ts'
import { FIND_LEDGER } from './statements/find-ledger.ts'
import { FIND_VERSION } from './statements/find-version.ts'

/** Numbered from 1; the ledger has a row for each that was applied. */
const MIGRATIONS: readonly string[] = [INBOX]

const INSUFFICIENT_PRIVILEGE = '42501'
/** Instances that start at once wait for the one that migrates. */
const WAIT_FOR_LOCK_MS = 60_000

const LEDGER = /* sql */ `
CREATE TABLE IF NOT EXISTS {schema}.messaging_webhooks_migrations (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
`

/** The migrations from number `from` + 1 on, as one transaction; applying it twice changes nothing and fails. */
export function migrationsText(schema: string, from = 0): string {
  return `BEGIN;\n${ddl(schema, from)}COMMIT;\n`
}

/** The row of the ledger comes first: where the migration was applied already, nothing else is. */
function ddl(schema: string, from: number): string {
  const steps = MIGRATIONS.slice(from).map((migration, index) => {
    const version = from + index + 1
    return `\n-- Migration ${version}\nINSERT INTO {schema}.messaging_webhooks_migrations (version) VALUES (${version});\n${migration}`
  })
  const lock = `SELECT pg_advisory_xact_lock(${lockNumber(schema)});\n`
  return inSchema([lock, 'CREATE SCHEMA IF NOT EXISTS {schema};', LEDGER, ...steps].join(''), schema)
}

/** The lock ends with its transaction, so that it works through a pooler too. */
function lockNumber(schema: string): string {
  return `hashtextextended('messaging-webhooks ' || convert_from(decode('${hexOf(schema)}', 'hex'), 'UTF8'), 0)`
}

/** What was there, and what is there now. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/** Brings the schema up to date. Refuses one that is not ours, or newer, and leaves it as it is. */
export async function migrate(connections: Connections, schema: string, failures: Failures): Promise<Migrated> {
  const to = MIGRATIONS.length
  // Most starts find everything done, and need no right to make tables.
  const before = await readVersion(connections.query, schema)
  if (before === to) return { from: to, to }
  const session = await connections.checkOut()
  try {
    const from = await apply(session, schema)
    session.release()
    return { from, to }
  } catch (error) {
    // Whatever the transaction was in the middle of is undone with its connection.
    session.release(failures.cleaned(error))
    if (hasState(error, INSUFFICIENT_PRIVILEGE))
      throw new MessagingWebhooksError('store_unmigrated', `The schema is ${quoteName(schema)}.`, {
        cause: failures.cleaned(error),
      })
    throw failures.asThrown(error)
  }
}

/** What `migrate` would do; changes nothing, and refuses what it refuses. */
export async function pending(connections: Connections, schema: string): Promise<Migrated> {
  return { from: await readVersion(connections.query, schema), to: MIGRATIONS.length }
}

async function apply(session: Session, schema: string): Promise<number> {
  await session.batch(
    `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${WAIT_FOR_LOCK_MS}; ` +
      `SET LOCAL statement_timeout = ${WAIT_FOR_LOCK_MS};`,
  )
  await session.batch(`SELECT pg_advisory_xact_lock(${lockNumber(schema)});`)
  // Another process may have migrated while we waited.
  const from = await readVersion(async (sql) => (await session.batch(sql))[0] ?? [], schema)
  if (from < MIGRATIONS.length) await session.batch(ddl(schema, from))
  await session.batch('COMMIT;')
  return from
}

type Query = (sql: string) => Promise<readonly Row[]>

/** How many migrations the schema has; throws for one that is not ours, or newer. */
async function readVersion(query: Query, schema: string): Promise<number> {
  const [found] = await query(fill(FIND_LEDGER, { schema: hexOf(schema) }))
  if (found === undefined || !truth(found, 'ledger')) {
    if (found?.['tables'] != null)
      throw new MessagingWebhooksError(
        'store_foreign',
        `The schema ${quoteName(schema)} has other tables of these names: ${text(found, 'tables')}.`,
      )
    return 0
  }
  const [row] = await query(inSchema(FIND_VERSION, schema))
  const version = row === undefined ? 0 : integer(row, 'version')
  if (version > MIGRATIONS.length)
    throw new MessagingWebhooksError(
      'store_newer',
      `The schema ${quoteName(schema)} has version ${version}; this package knows ${MIGRATIONS.length}.`,
    )
  return version
}
