/** What all statements share: connections, the dialect, and the server's clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { createDialect, createServerTime, type Dialect, type RowsOf, type SqlEngine } from '../sql/dialect.ts'
import type { Row } from '../sql/values.ts'
import type { Connections, Run } from './connections.ts'
import { digestValue, isOneOf, rowReader, textValue } from './encoding.ts'
import { tablesOf, type Tables } from './migrations.ts'
import type { Settings } from './settings.ts'

/** The server's clock in milliseconds when the statement began, whatever the time zone of the session. */
export const SERVER_NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"

export interface Engine extends SqlEngine {
  readonly connections: Connections
  readonly tables: Tables
}

/** Reads the server's version, and its clock for the first time. */
export async function createEngine(connections: Connections, { prefix }: Settings): Promise<Engine> {
  const times = createServerTime(rowReader)
  const sentMs = monotonicMs()
  const { rows } = await connections.run(`SELECT ${SERVER_NOW} AS now, VERSION() AS version`)
  const [row] = rows
  if (row === undefined) throw new Error('The database did not return its time.')
  refuseOld(rowReader.text(row, 'version'))
  times.noteTime(row, sentMs)
  const tables = tablesOf(prefix)
  return { ...times, connections, tables, dialect: dialectOf(tables, connections.run) }
}

function dialectOf(tables: Tables, run: Run): Dialect {
  return createDialect({
    tables,
    keyColumn: 'digest',
    due: { table: tables.records, record: 'number', at: 'due_at' },
    serverNow: SERVER_NOW,
    digestIn: (column) => column,
    bytesIn: (column) => column,
    digestValue,
    textValue,
    bigintValue: (written) => written,
    isOneOf,
    // A comparison of rows would not use the index.
    comparePair: ([a, b], sign, [x, y]) => `${a} ${sign}= ${x} AND (${a} ${sign} ${x} OR ${b} ${sign} ${y})`,
    rows: rowReader,
    rowsOf: rowsBy(run),
  })
}

export function rowsBy(run: Run): RowsOf {
  return async (...statements) => {
    const answers: (readonly Row[])[] = []
    for (const statement of statements) answers.push((await run(statement)).rows)
    return answers
  }
}

/** Older servers lack `SKIP LOCKED`. */
function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const isMariaDb = version.includes('MariaDB')
  if (isMariaDb ? major > 10 || (major === 10 && minor >= 6) : major >= 8) return
  const detail = `The server is ${version}. Use MariaDB 10.6 or later, or MySQL 8.0 or later.`
  throw new MessagingWebhooksError('store_failed', detail)
}
