/** The list of workers in its table, and their leases. */
import { randomInt } from 'node:crypto'
import { monotonicMs } from '../../runtime/clock.ts'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import type { SqlEngine } from './dialect.ts'
import { isNull } from './values.ts'

/** Limits the rows to examine: so many of the earliest due and of the latest due, instead of a whole backlog. */
const MAX_SWEPT = 50_000
const MAX_VERSION = 2 ** 48 - 1

/** Writes a version and a text as values, if the list has the version `expected`. Resolves to whether it had. */
export type WriteList = (version: number, list: string, expected: string | undefined) => Promise<boolean>

export function createLeasing({ dialect, noteTime }: SqlEngine, writeList: WriteList): LeasingPart {
  const { tables, due, keyColumn, serverNow, digestIn, bytesIn, textValue, rows, rowsOf } = dialect
  return {
    list: {
      async read() {
        const sentMs = monotonicMs()
        const [[row] = []] = await rowsOf(`
SELECT ${serverNow} AS now, w.version, ${bytesIn('w.list')} AS list
FROM (SELECT 1) AS one LEFT JOIN ${tables.workers} w ON w.id = 1`)
        if (row === undefined) throw new Error('The database did not return its time.')
        noteTime(row, sentMs)
        const nowMs = rows.integer(row, 'now')
        if (isNull(row, 'version')) return { liveness: undefined, version: undefined, nowMs }
        return { liveness: readLiveness(rows.text(row, 'list')), version: rows.digits(row, 'version'), nowMs }
      },
      write: (liveness, version) => writeList(randomInt(1, MAX_VERSION), textValue(JSON.stringify(liveness)), version),
    },
    async leases() {
      const some = (direction: string): string => `
  (SELECT d.${due.record} AS record, d.worker FROM ${due.table} d
  WHERE d.${due.at} IS NOT NULL ORDER BY d.${due.at} ${direction} LIMIT ${MAX_SWEPT})`
      const [leased = []] = await rowsOf(`
SELECT ${digestIn(`r.${keyColumn}`)} AS digest, near.worker
FROM (${some('ASC')} UNION ${some('DESC')}) near JOIN ${tables.records} r ON r.number = near.record
WHERE near.worker IS NOT NULL`)
      return leased.map((row) => ({ key: rows.keyIn(row), worker: rows.digits(row, 'worker') }))
    },
  }
}
