/** The list of workers in its table, and their leases. */
import { randomInt } from 'node:crypto'
import { monotonicMs } from '../../runtime/clock.ts'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import { digestOf, integer, isNull, textOf, textValue } from './encoding.ts'
import { SERVER_NOW, type Engine } from './engine.ts'

/** Rows to examine, of those due first and of those due last, instead of a whole backlog. */
const MOST_SWEPT = 50_000
const MOST_VERSION = 2 ** 48 - 1

export function leasingPart({ connections: { run }, tables, clock, noteTime }: Engine): LeasingPart {
  return {
    list: {
      async read() {
        const sentMs = monotonicMs()
        const { rows } = await run(
          `SELECT ${SERVER_NOW} AS now, w.version, w.list FROM (SELECT 1) AS one LEFT JOIN ${tables.workers} w ON w.id = 1`,
        )
        const [row] = rows
        if (row === undefined) throw new Error('The database did not return its time.')
        noteTime(row, undefined, sentMs)
        const nowMs = integer(row, 'now')
        if (isNull(row, 'version')) return { liveness: undefined, version: undefined, nowMs }
        return { liveness: readLiveness(textOf(row, 'list')), version: textOf(row, 'version'), nowMs }
      },
      async write(liveness, version) {
        const [next, list] = [randomInt(1, MOST_VERSION), textValue(JSON.stringify(liveness))]
        const { affected } = await run(
          version === undefined
            ? `INSERT IGNORE INTO ${tables.workers} (id, version, list) VALUES (1, ${next}, ${list})`
            : `UPDATE ${tables.workers} SET version = ${next}, list = ${list} WHERE id = 1 AND version = ${version}`,
        )
        return affected > 0
      },
    },
    async leases() {
      // With callers' clocks, the server's clock does not tell what is leased.
      const isPast = clock === undefined ? 'r.due_at IS NOT NULL' : `r.due_at <= ${SERVER_NOW}`
      const some = (direction: string): string =>
        `(SELECT r.digest, r.worker FROM ${tables.records} r WHERE ${isPast} ORDER BY r.due_at ${direction} LIMIT ${MOST_SWEPT})`
      const { rows } = await run(
        `SELECT near.digest, near.worker FROM (${some('ASC')} UNION ${some('DESC')}) near WHERE near.worker IS NOT NULL`,
      )
      return rows.map((row) => ({ key: digestOf(row, 'digest'), worker: textOf(row, 'worker') }))
    },
  }
}
