/** A schema for one test on a real server; a clear error if there is no server. */
import pg from 'pg'
import { afterAll, describe, onTestFinished } from 'vitest'
import { postgresPrograms, startPostgres } from '../../support/servers/postgres.ts'
import { titleWith } from '../../support/skipping.ts'

const USUAL_URL = 'postgres://postgres@127.0.0.1:5432/test'
const DEADLINE_MS = 20_000

async function whyNot(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: DEADLINE_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface Place {
  readonly url: string
  readonly missing?: string
}

/** The server that POSTGRES_URL names; else the usual one; else one started for this file, if Postgres is installed. */
async function findServer(): Promise<Place> {
  const named = process.env['POSTGRES_URL']
  const url = named ?? USUAL_URL
  const missing = await whyNot(url)
  if (missing === undefined) return { url }
  if (named !== undefined || postgresPrograms() === undefined) return { url, missing }
  const server = await startPostgres()
  afterAll(() => server.remove())
  return { url: server.url() }
}

const { url, missing } = await findServer()
if (missing !== undefined) {
  const said = `No Postgres server answers (${missing}): its tests cannot run. POSTGRES_URL may name one.`
  if (process.env['CI'] === 'true') throw new Error(said)
}

export const POSTGRES_URL = url

/** Groups tests that need the server. If it is unreachable they are skipped by name, or fail with CI=true. */
export function describePostgres(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(
    titleWith(missing === undefined ? undefined : 'no Postgres server', name),
    tests,
  )
}

let schemas = 0

/** A name that no other test uses. */
export function newSchema(): string {
  return `mw_test_${process.pid}_${(schemas += 1)}`
}

/** Drops the schema with everything in it. */
export async function dropSchema(schema: string): Promise<void> {
  await onServer((client) => client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
}

/** A schema that is dropped after the test. */
export function freshSchema(): string {
  const schema = newSchema()
  onTestFinished(() => dropSchema(schema))
  return schema
}

/** Runs `work` on its own connection. */
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

/** The rows of one query. */
export async function rowsOf(sql: string): Promise<readonly Record<string, unknown>[]> {
  return onServer(async (client) => (await client.query<Record<string, unknown>>(sql)).rows)
}

/** The address of a role that may read and write in the schema but create nothing; dropped after the test. */
export async function freshRole(schema: string): Promise<string> {
  const role = `${schema}_role`
  await rowsOf(`
    CREATE ROLE "${role}" LOGIN PASSWORD 'of-the-role';
    GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`)
  onTestFinished(async () => {
    await rowsOf(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
  })
  const address = new URL(POSTGRES_URL)
  address.username = role
  address.password = 'of-the-role'
  return address.href
}
