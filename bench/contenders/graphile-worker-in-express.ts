/** graphile-worker: a job for each report, with the report's idempotency key as its job key; a worker in the same process. */
import { Logger, run } from 'graphile-worker'
import { Client } from 'pg'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace, POSTGRES_URL, removeSchema } from './stores.ts'

const TASK = 'report'
const CONCURRENT_JOBS = 24

export async function start({ place = newPlace() }: StartOptions): Promise<Running> {
  const tally = createTally()
  const schema = `bench_${place}`
  const runner = await run({
    // The setup that its documentation recommends for high throughput, “Batching”, with the concurrency of its own measurements.
    preset: {
      worker: {
        connectionString: POSTGRES_URL,
        schema,
        concurrentJobs: CONCURRENT_JOBS,
        maxPoolSize: CONCURRENT_JOBS + 1,
        localQueue: { size: CONCURRENT_JOBS + 1 },
        completeJobBatchDelay: 250,
        failJobBatchDelay: 250,
        logger: new Logger(() => () => {}),
      },
    },
    noHandleSignals: true,
    taskList: { [TASK]: () => tally.count() },
  })
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  return {
    server: expressKeeping((report) => runner.addJob(TASK, report, { jobKey: identityOf(report) })),
    tally,
    // A completed job is deleted.
    settle: () =>
      untilNone(async () => {
        const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${schema}.jobs`)
        return rows[0]?.count ?? 0
      }),
    async close({ remove }) {
      await runner.stop()
      await client.end()
      if (remove) await removeSchema(schema)
    },
  }
}
