/** The common base of all statements: connections, schema, time limits, and the server's clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MAX_APART_MS } from '../server-time.ts'
import { createDialect, createServerTime, type Dialect, type RowsOf } from '../sql/dialect.ts'
import type { Batch, Connections } from './connections.ts'
import { digestValue, isOneOf, quoteName, rowReader, SERVER_NOW, textValue, truth } from './encoding.ts'
import { parameter } from './plans.ts'
import type { Settings } from './settings.ts'

/**
 * Begins a transaction of several statements: each sees everything committed before it started, whatever the default of the
 * role.
 */
const READ_COMMITTED = /* sql */ 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;'

/** Makes the server answer only after the commit is on the disk. */
const ON_DISK = /* sql */ 'SET LOCAL synchronous_commit = on;'

export type Engine = Awaited<ReturnType<typeof createEngine>>

/** Reads the role's settings, and the server's clock for the first time. */
export async function createEngine(connections: Connections, settings: Pick<Settings, 'schema'>) {
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  // They end with the transaction.
  const setLimits = [
    `SET LOCAL lock_timeout = '${Math.ceil(lockTimeoutMs)}';`,
    `SET LOCAL statement_timeout = '${Math.ceil(queryTimeoutMs)}';`,
  ]
  const always = [READ_COMMITTED, ...setLimits, ...((await commitsEarly(connections)) ? [ON_DISK] : [])]
  const schema = quoteName(settings.schema)
  const together: Batch = (statements, settings = []) => connections.batch(statements, [...always, ...settings])
  const times = createServerTime(rowReader)
  const sentMs = monotonicMs()
  const [[row] = []] = await together(`SELECT ${SERVER_NOW} AS now;`)
  times.noteTime(row, sentMs)
  return {
    ...times,
    /** The schema's name as it appears in statements. */
    schema,
    /** Runs statements in one transaction, within the time limits. */
    together,
    /** Like `together`, on a connection with an open transaction. */
    within:
      (batch: Batch): Batch =>
      (statements) =>
        batch(statements, setLimits),
    /** A condition that is false if the server's clock differs from the caller's estimate. */
    isTime: (nowMs: number): string =>
      `abs(${SERVER_NOW} - ${parameter(String(Math.round(nowMs)), 'bigint')}) <= ${MAX_APART_MS}`,
    dialect: dialectOf(schema, together),
  }
}

function dialectOf(schema: string, together: Batch): Dialect {
  const table = (name: string): string => `${schema}.${name}`
  return createDialect({
    tables: {
      records: table('records'),
      payloads: table('payloads'),
      dead_letters: table('dead_letters'),
      workers: table('workers'),
    },
    keyColumn: 'key',
    due: { table: table('due'), record: 'record', at: 'at' },
    serverNow: SERVER_NOW,
    digestIn: (column) => `encode(${column}, 'hex')`,
    bytesIn: (column) => `encode(${column}, 'escape')`,
    digestValue,
    textValue,
    bigintValue: (digits) => `${digits}::bigint`,
    isOneOf,
    comparePair: ([a, b], sign, [x, y]) => `(${a}, ${b}) ${sign} (${x}::bigint, ${y}::bigint)`,
    rows: rowReader,
    rowsOf: rowsBy(together),
  })
}

/** Runs the statements in one round trip. */
export function rowsBy(together: Batch): RowsOf {
  return (...statements) => together(`${statements.join(';')};`)
}

/** Whether the role commits before the transaction is on the disk, by default. */
async function commitsEarly(connections: Connections): Promise<boolean> {
  const [row] = await connections.query(`SELECT current_setting('synchronous_commit') = 'off' AS is_off`)
  return row !== undefined && truth(row, 'is_off')
}
