/** The common base of all statements: connections, schema, time limits, and the choice of clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { ClockJump } from '../../inbox/record-store.ts'
import type { StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Connections } from './connections.ts'
import { integer, truth, type Row } from './encoding.ts'
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

/** Tolerance between the server's clock and a process's estimate of it. */
const MOST_APART_MS = 2_000

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
  /** Takes the server's time from a row with `now`. Throws a `ClockJump` if `isTime` was false. */
  noteTime(row: Row | undefined, nowMs: number | undefined, sentMs: number): void
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
  return {
    connections,
    clock,
    schema: quoteName(options.schema),
    together: (statements, settings = []) => connections.batch(statements, [...always, ...settings]),
    within: (batch) => (statements) => batch(statements, setLimits),
    isTime: (nowMs) =>
      clock === undefined || nowMs === undefined
        ? 'true'
        : `abs(${SERVER_NOW} - ${parameter(String(Math.round(nowMs)), 'bigint')}) <= ${MOST_APART_MS}`,
    noteTime(row, nowMs, sentMs) {
      if (clock === undefined || row === undefined) return
      const storeMs = integer(row, 'now')
      clock.note(storeMs, sentMs)
      if (nowMs !== undefined && Math.abs(storeMs - Math.round(nowMs)) > MOST_APART_MS) throw new ClockJump()
    },
  }
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
