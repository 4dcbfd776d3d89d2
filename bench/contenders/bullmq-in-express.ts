/** BullMQ: a job for each report, with the report's idempotency key as its id; a `Worker` in the same process. */
import { Queue, Worker } from 'bullmq'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace, REDIS_URL } from './stores.ts'

/** The value in its documentation, “Concurrency”. With a handler that awaits nothing, 100 gives the same rate and 1 is much slower. */
const CONCURRENCY = 50
/** BullMQ knows an id only while it keeps the job, “What about idempotence?”: kept here as long as pg-boss keeps one by default. */
const KEEP_SECONDS = 7 * 24 * 3_600

export async function start({ place = newPlace() }: StartOptions): Promise<Running> {
  const tally = createTally()
  const prefix = `bench-${place}`
  const queue = new Queue('reports', {
    prefix,
    // A producer must fail at once while Redis is unavailable, “Going to production”.
    connection: { url: REDIS_URL, enableOfflineQueue: false },
    defaultJobOptions: {
      attempts: 3,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: { age: KEEP_SECONDS },
    },
  })
  const worker = new Worker('reports', async () => tally.count(), {
    prefix,
    connection: { url: REDIS_URL },
    concurrency: CONCURRENCY,
  })
  queue.on('error', console.error)
  worker.on('error', console.error)
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    server: expressKeeping((report) => queue.add('report', report, { jobId: identityOf(report) })),
    tally,
    settle: () => untilNone(() => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed')),
    async close({ remove }) {
      await worker.close()
      if (remove) await queue.obliterate({ force: true })
      await queue.close()
    },
  }
}
