/** The common base of all statements: connections, schema, time limits, and the choice of clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import type { StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Dialect, RowsOf } from '../sql/dialect.ts'
import type { Row } from '../sql/rows.ts'
import { createNoteTime, MOST_APART_MS, type NoteTime } from '../sql/server-time.ts'
import type { Connections } from './connections.ts'
import { digestValue, isOneOf, rowReader, textValue, truth } from './encoding.ts'
import { parameter } from './plans.ts'
import { fill, quoteName, SERVER_NOW } from './sql-text.ts'

/**
 * Begins a transaction of several statements: each sees everything committed before it started, whatever the default of the
 * role.
 */
const READ_COMMITTED = /* sql */ 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;'

/** Time limits :lockMs and :queryMs, as digits in quotes. They end with the transaction. */
const LIMITS = [/* sql */ 'SET LOCAL lock_timeout = :lockMs;', /* sql */ 'SET LOCAL statement_timeout = :queryMs;']

/** Makes the server answer only after the commit is on the disk. */
const ON_DISK = /* sql */ 'SET LOCAL synchronous_commit = on;'

export const RECORD_COLUMNS = `r.number, encode(r.key, 'hex') AS digest, r.version, encode(r.state, 'escape') AS state,
  encode(r.reports, 'escape') AS reports,
  encode(r.send, 'escape') AS send, r.sent_at, r.overdue_at`

export const PAYLOAD_COLUMNS = `p.record, encode(p.id, 'hex') AS id, p.admitted_at, encode(p.event, 'escape') AS event,
  encode(p.raw, 'escape') AS raw, encode(p.error, 'escape') AS error`

/**
 * Runs statements in one transaction, within the time limits. Returns the rows of each. A text with a `parameter` must be one
 * statement. The settings apply to this transaction only.
 */
export type Together = (statements: string, settings?: readonly string[]) => Promise<readonly (readonly Row[])[]>

export interface Engine {
  readonly connections: Connections
  /** Undefined if the clocks of the callers apply. */
  readonly clock: StoreClock | undefined
  /** The schema's name as it appears in statements. */
  readonly schema: string
  readonly together: Together
  /** Like `together`, on a connection with an open transaction. */
  within(batch: Together): Together
  /** A condition that is false if the server's clock differs from the caller's estimate. */
  isTime(nowMs: number | undefined): string
  readonly dialect: Dialect
  readonly noteTime: NoteTime
}

export function createEngine(options: {
  readonly connections: Connections
  readonly schema: string
  readonly clock: StoreClock | undefined
  /** Whether the role commits before the transaction is on the disk, by default. */
  readonly commitsEarly: boolean
}): Engine {
  const { connections, clock, commitsEarly } = options
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  const limits = { lockMs: String(Math.ceil(lockTimeoutMs)), queryMs: String(Math.ceil(queryTimeoutMs)) }
  const setLimits = LIMITS.map((statement) => fill(statement, limits))
  const always = [READ_COMMITTED, ...setLimits, ...(commitsEarly ? [ON_DISK] : [])]
  const schema = quoteName(options.schema)
  const together: Together = (statements, settings = []) => connections.batch(statements, [...always, ...settings])
  return {
    connections,
    clock,
    schema,
    together,
    within: (batch) => (statements) => batch(statements, setLimits),
    isTime: (nowMs) =>
      clock === undefined || nowMs === undefined
        ? 'true'
        : `abs(${SERVER_NOW} - ${parameter(String(Math.round(nowMs)), 'bigint')}) <= ${MOST_APART_MS}`,
    dialect: dialectOf(schema, together),
    noteTime: createNoteTime(clock, rowReader),
  }
}

function dialectOf(schema: string, together: Together): Dialect {
  const table = (name: string): string => `${schema}.${name}`
  return {
    tables: {
      records: table('records'),
      payloads: table('payloads'),
      dead_letters: table('dead_letters'),
      workers: table('workers'),
    },
    keyColumn: 'key',
    ofColumn: 'of',
    due: { table: table('due'), record: 'record', at: 'at' },
    recordColumns: RECORD_COLUMNS,
    payloadColumns: PAYLOAD_COLUMNS,
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
  }
}

/** Runs the statements in one round trip. */
export function rowsBy(together: Together): RowsOf {
  return (...statements) => together(`${statements.join(';')};`)
}

/** Reads the server's clock for the first time. */
export async function readTime({ together, noteTime }: Engine): Promise<void> {
  const sentMs = monotonicMs()
  const [[row] = []] = await together(`SELECT ${SERVER_NOW} AS now;`)
  noteTime(row, undefined, sentMs)
}

/** Whether the role has `synchronous_commit` switched off. */
export async function readsCommitsEarly(connections: Connections): Promise<boolean> {
  const [row] = await connections.query(`SELECT current_setting('synchronous_commit') = 'off' AS is_off`)
  return row !== undefined && truth(row, 'is_off')
}
