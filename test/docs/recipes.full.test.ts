/** The recipes for job queues: an event that runs again adds no second job. */
import { Queue, Worker } from 'bullmq'
import { expect, onTestFinished, test } from 'vitest'
import { describePostgres, onServer, POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { describeRedis, useRedis } from '../stores/redis/own-redis.ts'
import { RECEIVER, recipeWith, runOf, SERVER, writtenApp } from './recipe-app.ts'

const TIMEOUT = { timeout: 180_000 }

describeRedis('BullMQ', () => {
  const server = useRedis({ 'maxmemory-policy': 'noeviction' })

  test('an event that runs again adds no second job, not even when the first is done', TIMEOUT, async () => {
    const folder = await writtenApp(`${RECEIVER}${recipeWith("from 'bullmq'")}${SERVER}`)
    const env = { REDIS_URL: server().url() }
    const connection = { url: server().url() }
    const queue = new Queue('deliveries', { connection })
    onTestFinished(() => queue.close())

    const [id] = await runOf(folder, 'm-1', env)
    expect(await queue.getJobs()).toMatchObject([{ id, name: 'delivered', data: { messageId: 'm-1' } }])
    expect(await runOf(folder, 'm-1', env)).toEqual([id])
    expect(await queue.getJobCounts('waiting', 'completed')).toEqual({ waiting: 1, completed: 0 })

    const worker = new Worker('deliveries', async () => {}, { connection })
    onTestFinished(() => worker.close())
    await expect.poll(() => queue.getJobCounts('completed')).toEqual({ completed: 1 })
    expect(await runOf(folder, 'm-1', env)).toEqual([id])
    await runOf(folder, 'm-2', env)
    await expect.poll(() => queue.getJobCounts('waiting', 'completed')).toEqual({ waiting: 0, completed: 2 })
  })
})

/** Another handler sees the jobs from outside the transaction, and lets the first attempt fail. */
const FAILING = `
receiver.on('message.delivered', async ({ id }, { attempt }) => {
  const jobs = await boss.findJobs('deliveries')
  console.log(attempt, jobs.length)
  if (attempt === 1) throw new Error('The transaction is rolled back.')
})
`

describePostgres('pg-boss', () => {
  test(
    'the job is committed with the acknowledgement, and an event that runs again adds no second one',
    TIMEOUT,
    async () => {
      const name = `mw_recipes_${process.pid}`
      await rowsOf(`CREATE DATABASE ${name}`)
      onTestFinished(async () => {
        await rowsOf(`DROP DATABASE ${name} WITH (FORCE)`)
      })
      const DATABASE_URL = Object.assign(new URL(POSTGRES_URL), { pathname: `/${name}` }).href
      const rows = (text: string): Promise<readonly unknown[]> =>
        onServer(async (client) => (await client.query<object>(text)).rows, DATABASE_URL)
      const jobs = (): Promise<readonly unknown[]> =>
        rows(`SELECT replace(id::text, '-', '') AS id, data FROM pgboss.job WHERE name = 'deliveries'`)

      const folder = await writtenApp(`${recipeWith("from 'pg-boss'")}${FAILING}${SERVER}`)
      const until = (): PromiseLike<void> => expect.poll(jobs).toHaveLength(1)
      const [first, id, ...second] = await runOf(folder, 'm-1', { DATABASE_URL }, { lines: 4, until })
      expect([first, ...second]).toEqual(['1 0', '2 0', id])
      expect(await jobs()).toEqual([{ id, data: { messageId: 'm-1' } }])

      // Without its store, the app takes the callback for a new one.
      await rows('DROP SCHEMA messaging_webhooks CASCADE')
      expect(await runOf(folder, 'm-1', { DATABASE_URL }, { lines: 4 })).toEqual(['1 1', id, '2 1', id])
      expect(await jobs()).toHaveLength(1)
    },
  )
})
