/** The list of workers in its table, and their leases. */
import { randomInt } from 'node:crypto'
import { monotonicMs } from '../../runtime/clock.ts'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import { bytesOf, bytesValue, integer, text, textOf } from './encoding.ts'
import type { Engine } from './engine.ts'
import { SERVER_NOW } from './sql-text.ts'

/** Limits the rows to examine: so many of the earliest due and of the latest due, instead of a whole backlog. */
const MOST_SWEPT = 50_000
const MOST_VERSION = 2 ** 48 - 1

export function leasingPart({ schema, clock, together, noteTime }: Engine): LeasingPart {
  return {
    list: {
      async read() {
        const sentMs = monotonicMs()
        const [[now] = [], [row] = []] = await together(`
SELECT ${SERVER_NOW} AS now;
SELECT version, encode(list, 'escape') AS list FROM ${schema}.workers;`)
        if (now === undefined) throw new Error('The database did not return its time.')
        noteTime(now, undefined, sentMs)
        const nowMs = integer(now, 'now')
        if (row === undefined) return { liveness: undefined, version: undefined, nowMs }
        return { liveness: readLiveness(textOf(row, 'list')), version: text(row, 'version'), nowMs }
      },
      async write(liveness, version) {
        const next = `${randomInt(1, MOST_VERSION)}, ${bytesValue(bytesOf(JSON.stringify(liveness)))}`
        const [rows = []] = await together(`
INSERT INTO ${schema}.workers AS w (id, version, list) VALUES (1, ${next})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, list = excluded.list WHERE w.version = ${version ?? 'NULL'}
RETURNING w.id;`)
        return rows.length > 0
      },
    },
    async leases() {
      // With the clocks of the callers, the server's clock does not tell which records are leased.
      const isPast = clock === undefined ? 'true' : `d.at <= ${SERVER_NOW}`
      const some = (direction: string): string =>
        `(SELECT d.record, d.worker FROM ${schema}.due d WHERE ${isPast} ORDER BY d.at ${direction} LIMIT ${MOST_SWEPT})`
      const [rows = []] = await together(`
SELECT encode(r.key, 'hex') AS key, near.worker
FROM (${some('ASC')} UNION ${some('DESC')}) near JOIN ${schema}.records r ON r.number = near.record
WHERE near.worker IS NOT NULL;`)
      return rows.map((row) => ({ key: text(row, 'key'), worker: text(row, 'worker') }))
    },
  }
}
