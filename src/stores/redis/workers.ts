/** The list of workers of each group of partitions, stored as a versioned text like a record, and the leases of a group. */
import { randomBytes } from 'node:crypto'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import { ask, readTime, runIf, valuesAt, type Engine } from './engine.ts'
import type { Group } from './partitions.ts'
import type { Records } from './records.ts'
import { list, text } from './replies.ts'
import { FOREIGN, VERSION_DIGITS } from './scripts.ts'

/** Maximum number of leases to examine. */
const MOST_LEASES = 100_000
const WORKERS = 'workers'

export function leasingPart(engine: Engine, { look }: Pick<Records, 'look'>, group: Group): LeasingPart {
  const [home] = group
  return {
    list: {
      async read() {
        const [nowMs, [stored]] = await Promise.all([
          readTime(engine, group),
          valuesAt(engine.redis, [home.base + WORKERS]),
        ])
        if (stored === undefined) return { liveness: undefined, version: undefined, nowMs }
        const version = stored.toString('latin1', 0, VERSION_DIGITS)
        return { liveness: readLiveness(stored.toString('utf8', VERSION_DIGITS)), version, nowMs }
      },
      async write(liveness, expected = '') {
        const version = randomBytes(VERSION_DIGITS / 2).toString('hex')
        const commands = [['SET', WORKERS, version + JSON.stringify(liveness)]] as const
        const { found } = await runIf(engine, [{ partition: home, key: WORKERS, expected, commands }], { fits: true })
        if (found[0] === FOREIGN) await ask(engine, home, ['UNLINK', WORKERS])
        return found[0] === expected || found[0] === version
      },
    },
    async leases() {
      const ends = ['ZRANGE', 'leased', '0', String(MOST_LEASES)] as const
      const keys = await Promise.all(group.map(async (partition) => list(await ask(engine, partition, ends))))
      // Leave out unreadable records and records of a later version: they must not stop the heartbeat.
      const found = await look(keys.flat().map(text))
      return [...found].flatMap(([key, { lease }]) =>
        lease === undefined || lease.worker === '' ? [] : [{ key, worker: lease.worker }],
      )
    },
  }
}
