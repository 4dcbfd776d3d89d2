/** pg-boss: a job for each report, whose id comes from the report's identity; a worker that takes batches. */
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { PgBoss } from 'pg-boss'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace, POSTGRES_URL, removeSchema } from './stores.ts'

const QUEUE = 'reports'

export async function start({ place = newPlace() }: StartOptions): Promise<Running> {
  const tally = createTally()
  const schema = `bench_${place}`
  const boss = new PgBoss({ connectionString: POSTGRES_URL, schema })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue(QUEUE)
  // The shortest interval there is, and none while batches are full. Its LISTEN/NOTIFY wakes a worker sooner, but at full
  // load it halves the rate: Postgres commits what notifies one after the other.
  const options = { batchSize: 100, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
  await boss.work(QUEUE, options, async (jobs) => {
    for (const _ of jobs) tally.count()
  })
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  let taken = 0
  return {
    server: expressKeeping(async (report) => {
      const id = await boss.send(QUEUE, report, { id: uuidOf(identityOf(report)) })
      // Of an id that is there already it says null.
      if (id !== null) taken += 1
    }),
    tally,
    async settle() {
      // To count a table that keeps every job is dear: only once the handlers have been called.
      await untilNone(() => taken - tally.handled)
      await untilNone(async () => {
        const { rows } = await client.query<{ count: number }>(
          `SELECT count(*)::int AS count FROM ${schema}.job WHERE name = $1 AND state < 'completed'`,
          [QUEUE],
        )
        return rows[0]?.count ?? 0
      })
    },
    async close({ remove }) {
      await boss.stop()
      await client.end()
      if (remove) await removeSchema(schema)
    },
  }
}

/** Its ids are UUIDs. */
function uuidOf(identity: string): string {
  const hex = createHash('sha256').update(identity).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
