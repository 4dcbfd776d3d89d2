/** pg-boss: a job for each report, with an id derived from the report's idempotency key; a worker that takes batches. */
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { PgBoss } from 'pg-boss'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace, POSTGRES_URL, removeSchema } from './stores.ts'

const QUEUE = 'reports'

export async function start({ place }: StartOptions): Promise<Running> {
  const tally = createTally()
  const isAlone = place === undefined
  const schema = `bench_${place ?? newPlace()}`
  const boss = new PgBoss({ connectionString: POSTGRES_URL, schema })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue(QUEUE)
  // The shortest polling interval; full batches follow without a pause. Its LISTEN/NOTIFY wakes a worker sooner, but at full
  // load it halves the rate: Postgres commits notifying transactions one after the other.
  const options = { batchSize: 100, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
  await boss.work(QUEUE, options, async (jobs) => {
    for (const _ of jobs) tally.count()
  })
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  let accepted = 0
  return {
    server: expressKeeping(async (report) => {
      const id = await boss.send(QUEUE, report, { id: uuidOf(identityOf(report)) })
      // It returns null for an id that already exists.
      if (id !== null) accepted += 1
    }),
    tally,
    async settle() {
      // Counting a table that keeps every job is expensive: count only once the handlers have been called. With several
      // processes, another one may have called them.
      if (isAlone) await untilNone(() => accepted - tally.handled)
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

/** pg-boss requires UUIDs as ids. */
function uuidOf(identity: string): string {
  const hex = createHash('sha256').update(identity).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
