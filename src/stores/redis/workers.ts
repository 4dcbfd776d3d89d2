/** The list of workers of each partition, stored as a versioned text like a record, and the leases of a partition. */
import { randomBytes } from 'node:crypto'
import { readLiveness } from '../liveness.ts'
import type { LeasingPart } from '../workers.ts'
import { ask, readTime, runIf, valuesAt, type Engine } from './engine.ts'
import type { Partition } from './partitions.ts'
import type { Records } from './records.ts'
import { list, text } from './replies.ts'
import { VERSION_LENGTH } from './scripts.ts'

/** Maximum number of leases to examine. */
const MAX_LEASES = 100_000
const WORKERS = 'workers'

export function leasingPart(engine: Engine, { look }: Pick<Records, 'look'>, partition: Partition): LeasingPart {
  return {
    list: {
      async read() {
        const [nowMs, [stored]] = await Promise.all([
          readTime(engine, partition),
          valuesAt(engine.redis, [partition.base + WORKERS]),
        ])
        if (stored === undefined) return { liveness: undefined, version: undefined, nowMs }
        const version = stored.toString('latin1', 0, VERSION_LENGTH)
        return { liveness: readLiveness(stored.toString('utf8', VERSION_LENGTH)), version, nowMs }
      },
      async write(liveness, expected = '') {
        const version = randomBytes((VERSION_LENGTH * 3) / 4).toString('base64url')
        const writes = [['SET', WORKERS, version + JSON.stringify(liveness)]] as const
        const { found } = await runIf(engine, partition, [{ key: WORKERS, expected, writes }], { fits: true })
        return found[0] === expected || found[0] === version
      },
    },
    async leases() {
      const keys = list(await ask(engine, partition, ['ZRANGE', 'leased', '0', String(MAX_LEASES)]))
      const found = await look(keys.map(text))
      return [...found].flatMap(([key, { lease }]) =>
        lease === undefined || lease.worker === '' ? [] : [{ key, worker: lease.worker }],
      )
    },
  }
}
