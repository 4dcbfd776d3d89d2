/** A schema of a test's own on a real server, or a loud word where there is none. */
import pg from 'pg'
import { describe, onTestFinished } from 'vitest'

/** Where the tests' server is. Another one: set POSTGRES_URL. */
export const POSTGRES_URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'

const PATIENCE_MS = 5_000

async function whyNot(): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: PATIENCE_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const missing = await whyNot()
if (missing !== undefined) {
  const said = `No Postgres server answers at POSTGRES_URL (${missing}): its tests cannot run.`
  if (process.env['CI'] === 'true') throw new Error(said)
  console.warn(said)
}

/** Groups tests that need the server; skipped by name where it cannot be reached, and a failure with CI=true. */
export function describePostgres(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(missing === undefined ? name : `${name} (no Postgres server)`, tests)
}

let schemas = 0

/** A name that no other test has. */
export function newSchema(): string {
  return `mw_test_${process.pid}_${(schemas += 1)}`
}

/** Drops it, whatever is in it. */
export async function dropSchema(schema: string): Promise<void> {
  await onServer((client) => client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
}

/** A schema that is dropped when the test is over. */
export function freshSchema(): string {
  const schema = newSchema()
  onTestFinished(() => dropSchema(schema))
  return schema
}

/** Runs `work` on a connection of its own. */
export async function onServer<T>(work: (client: pg.Client) => Promise<T>, url = POSTGRES_URL): Promise<T> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The rows of one question. */
export async function rowsOf(sql: string): Promise<readonly Record<string, unknown>[]> {
  return onServer(async (client) => (await client.query<Record<string, unknown>>(sql)).rows)
}
