/** BullMQ: a job for each report, whose id is the report's identity; a `Worker` in the same process. */
import { Queue, Worker } from 'bullmq'
import { identityOf } from './by-hand.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { expressKeeping, untilNone } from './express-keeping.ts'
import { newPlace, REDIS_URL } from './stores.ts'

/** That of its documentation's example, “Concurrency”. With a handler that waits for nothing 100 is no faster, 1 much slower. */
const CONCURRENCY = 50
/** An id is known only as long as its job is kept, “What about idempotence?”: as long as pg-boss keeps one by default. */
const KEEP_SECONDS = 7 * 24 * 3_600

export async function start({ place = newPlace() }: StartOptions): Promise<Running> {
  const tally = createTally()
  const prefix = `bench-${place}`
  const queue = new Queue('reports', {
    prefix,
    // A producer is to fail at once while Redis is away, “Going to production”.
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
