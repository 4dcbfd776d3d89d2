/** The list of workers in its table, and their leases. */
import { randomInt } from 'node:crypto'
import { monotonicMs } from '../../runtime/clock.ts'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import type { SqlEngine } from './engine.ts'
import { base64, isNull } from './values.ts'

const MAX_VERSION = 2 ** 48 - 1

/**
 * Writes a version and a list in base64, if the list has the version `expected` (undefined: if there is none). Resolves to whether
 * it had.
 */
export type WriteList = (version: number, list: string, expected: string | undefined) => Promise<boolean>

export function createLeasing({ statements, rows, ask, noteTime }: SqlEngine, writeList: WriteList): LeasingPart {
  return {
    list: {
      async read() {
        const sentMs = monotonicMs()
        const [row] = await ask(statements.workers)
        if (row === undefined) throw new Error('The database did not return its time.')
        noteTime(row, sentMs)
        const nowMs = rows.integer(row, 'now')
        if (isNull(row, 'version')) return { liveness: undefined, version: undefined, nowMs }
        return { liveness: readLiveness(rows.text(row, 'list')), version: rows.digits(row, 'version'), nowMs }
      },
      write: (liveness, version) => writeList(randomInt(1, MAX_VERSION), base64(JSON.stringify(liveness)), version),
    },
    async leases() {
      const leased = await ask(statements.leases)
      return leased.map((row) => ({ key: rows.keyIn(row), worker: rows.digits(row, 'worker') }))
    },
  }
}
