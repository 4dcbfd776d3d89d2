/** What all statements share: connections, the schema, the time-outs, and whose clock counts. */
import { monotonicMs } from '../../runtime/clock.ts'
import { ClockJump } from '../../inbox/record-store.ts'
import type { StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Connections } from './connections.ts'
import { integer, truth, type Row } from './encoding.ts'
import { fill, quoteName, SERVER_NOW } from './sql-text.ts'

/** First in a transaction of several statements: each sees what was committed before it began, whatever the role's default. */
const READ_COMMITTED = /* sql */ 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;'

/** None waits for ever: :lockMs and :queryMs, digits in quotes. Nothing of it outlives the transaction. */
const LIMITS = /* sql */ 'SET LOCAL lock_timeout = :lockMs; SET LOCAL statement_timeout = :queryMs;'

/** What was answered as taken is on the disk. */
const ON_DISK = /* sql */ 'SET LOCAL synchronous_commit = on;'

/** The server's clock may be so far from what a process takes it for. */
const MOST_APART_MS = 2_000

/** Runs statements in one transaction, within the time-outs; answers the rows of each. */
export type Together = (statements: string) => Promise<readonly (readonly Row[])[]>

export interface Engine {
  readonly connections: Connections
  /** Undefined where the callers' clocks count. */
  readonly clock: StoreClock | undefined
  /** Its name, as it stands in statements. */
  readonly schema: string
  readonly together: Together
  /** The same on a connection on which a transaction was begun before. */
  within(batch: Together): Together
  /** A condition: false where the server's clock is not where the caller takes it to be. */
  isTime(nowMs: number | undefined): string
  /** Takes the server's time from an answer, a row with `now` in it. Throws a `ClockJump` where `isTime` was false. */
  hear(row: Row | undefined, nowMs: number | undefined, sentMs: number): void
}

export function createEngine(options: {
  readonly connections: Connections
  readonly schema: string
  readonly clock: StoreClock | undefined
  /** The role commits before a transaction is on the disk, unless it is told otherwise. */
  readonly commitsEarly: boolean
}): Engine {
  const { connections, clock, commitsEarly } = options
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  const limits = fill(LIMITS, { lockMs: String(Math.ceil(lockTimeoutMs)), queryMs: String(Math.ceil(queryTimeoutMs)) })
  const settings = READ_COMMITTED + limits + (commitsEarly ? ON_DISK : '')
  const count = commitsEarly ? 4 : 3
  return {
    connections,
    clock,
    schema: quoteName(options.schema),
    // What the settings of the transaction answer comes first.
    together: async (statements) => (await connections.batch(settings + statements)).slice(count),
    within: (batch) => async (statements) => (await batch(limits + statements)).slice(2),
    isTime: (nowMs) =>
      clock === undefined || nowMs === undefined
        ? 'true'
        : `abs(${SERVER_NOW} - ${Math.round(nowMs)}) <= ${MOST_APART_MS}`,
    hear(row, nowMs, sentMs) {
      if (clock === undefined || row === undefined) return
      const storeMs = integer(row, 'now')
      clock.heard(storeMs, sentMs)
      if (nowMs !== undefined && Math.abs(storeMs - Math.round(nowMs)) > MOST_APART_MS) throw new ClockJump()
    },
  }
}

/** Reads the server's clock for the first time. */
export async function hearTime({ together, hear }: Engine): Promise<void> {
  const sentMs = monotonicMs()
  const [[row] = []] = await together(`SELECT ${SERVER_NOW} AS now;`)
  hear(row, undefined, sentMs)
}

/** Whether the role has `synchronous_commit` switched off. */
export async function readsCommitsEarly(connections: Connections): Promise<boolean> {
  const [row] = await connections.query(`SELECT current_setting('synchronous_commit') = 'off' AS is_off`)
  return row !== undefined && truth(row, 'is_off')
}
