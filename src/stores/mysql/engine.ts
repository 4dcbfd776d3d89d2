/** What all statements share: connections, table names, and the choice of clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump } from '../../inbox/record-store.ts'
import type { StoreClock } from '../../inbox/runtime/store-time.ts'
import { Withdrawn, type Connections } from './connections.ts'
import { integer, textOf, type Row } from './encoding.ts'
import { tablesOf, type Tables } from './migrations.ts'

/** The server's clock in milliseconds when the statement began, whatever the time zone of the session. */
export const SERVER_NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"

/** Tolerance between the server's clock and a process's estimate of it. */
const MOST_APART_MS = 2_000

export interface Engine {
  readonly connections: Connections
  /** Undefined if the callers' clocks decide. */
  readonly clock: StoreClock | undefined
  readonly tables: Tables
  /** Takes the server's time from a row with `now`. Throws a `ClockJump` if it differs from the caller's estimate. */
  noteTime(row: Row | undefined, nowMs: number | undefined, sentMs: number): void
}

/** Reads the server's version, and its clock for the first time. */
export async function createEngine(options: {
  readonly connections: Connections
  readonly prefix: string
  readonly clock: StoreClock | undefined
}): Promise<Engine> {
  const { connections, prefix, clock } = options

  function noteTime(row: Row | undefined, nowMs: number | undefined, sentMs: number): void {
    if (clock === undefined || row === undefined) return
    const storeMs = integer(row, 'now')
    clock.note(storeMs, sentMs)
    if (nowMs !== undefined && Math.abs(storeMs - Math.round(nowMs)) > MOST_APART_MS)
      throw new Withdrawn('The clock has jumped.', { cause: new ClockJump() })
  }

  const sentMs = monotonicMs()
  const { rows } = await connections.run(`SELECT ${SERVER_NOW} AS now, VERSION() AS version`)
  const [row] = rows
  if (row === undefined) throw new Error('The database did not return its time.')
  refuseOld(textOf(row, 'version'))
  noteTime(row, undefined, sentMs)
  return { connections, clock, tables: tablesOf(prefix), noteTime }
}

/** Older servers lack `SKIP LOCKED`. */
function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const isMariaDb = version.includes('MariaDB')
  if (isMariaDb ? major > 10 || (major === 10 && minor >= 6) : major >= 8) return
  const detail = `The server is ${version}. Use MariaDB 10.6 or later, or MySQL 8.0 or later.`
  throw new MessagingWebhooksError('store_failed', detail)
}
