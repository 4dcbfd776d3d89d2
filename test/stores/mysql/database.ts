/** Tables for one test on a real server; a clear error if there is no server. */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, describe, onTestFinished } from 'vitest'
import { hasMysql, startMysql } from '../../support/servers/mysql.ts'
import { titleWith } from '../../support/skipping.ts'

const missing = hasMysql() ? undefined : 'no MariaDB server'
if (missing !== undefined && process.env['CI'] === 'true')
  throw new Error('There is no mariadbd on this machine: the tests of the MySQL store cannot run.')

async function ownServer(): Promise<string> {
  const server = await startMysql()
  afterAll(() => server.remove())
  return server.url()
}

/**
 * The server that MYSQL_URL names, or one started for this file. The quick tests of one process share this module, and the server
 * ends with the first file, so only one quick file may use it.
 */
export const MYSQL_URL = missing === undefined ? (process.env['MYSQL_URL'] ?? (await ownServer())) : ''

/** Groups tests that need the server. Without one they are skipped by name, or fail with CI=true. */
export function describeMysql(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(titleWith(missing, name), tests)
}

let prefixes = 0

/** A prefix that no other test uses. */
export function newPrefix(): string {
  return `mw_test_${process.pid}_${(prefixes += 1)}`
}

type Rows = readonly Record<string, unknown>[]

/** Runs statements on their own connection. Rows return bytes as text. */
async function onServer<T>(work: (run: (sql: string) => Promise<Rows>) => Promise<T>): Promise<T> {
  const connection = await createConnection({ uri: MYSQL_URL, typeCast: (field) => field.string('utf8') })
  try {
    return await work(async (sql) => (await connection.query<RowDataPacket[]>(sql))[0])
  } finally {
    await connection.end()
  }
}

/** The rows of one statement. */
export async function rowsOf(sql: string): Promise<Rows> {
  return onServer((run) => run(sql))
}

/** Runs statements in a transaction. */
export async function inTransaction(work: (run: (sql: string) => Promise<Rows>) => Promise<void>): Promise<void> {
  await onServer(async (run) => {
    await run('START TRANSACTION')
    await work(run)
    await run('COMMIT')
  })
}

export async function dropTables(prefix: string): Promise<void> {
  const names = ['migrations', 'records', 'payloads', 'dead_letters', 'workers', 'written']
  await rowsOf(`DROP TABLE IF EXISTS ${names.map((name) => `\`${prefix}_${name}\``).join(', ')}`)
}

/** A prefix whose tables are dropped when the test is over. */
export function freshPrefix(): string {
  const prefix = newPrefix()
  onTestFinished(() => dropTables(prefix))
  return prefix
}
