/** A server is emptied under running processes: each of them reports it, and later events are accepted. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { post, receiving } from '../../support/receiving.ts'
import { clientFor, describeClients, freshPrefix, useRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })

  function admin(at = server()): Redis {
    const client = new Redis(at.url())
    onTestFinished(() => client.disconnect())
    return client
  }

  async function receivingFrom(prefix: string, { dispatch = true, at = server() }: Partial<Process> = {}) {
    const { client, end } = clientFor(name, at.url())
    onTestFinished(end)
    const process = await receiving({
      store: redisStore({ client, prefix, commandTimeoutMs: 20_000 }),
      storeTimeoutMs: 30_000,
      spool: false,
      dispatch,
    })
    await process.receiver.start()
    const codes = (): readonly string[] => process.errors.map(({ code }) => code)
    const reasons = async (): Promise<readonly string[]> =>
      (await process.receiver.health()).reasons.map(({ code }) => code)
    return { ...process, codes, reasons }
  }

  test('every process reports FLUSHALL once, and health shows it', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const worker = await receivingFrom(prefix)
    const intake = await receivingFrom(prefix, { dispatch: false })
    const handled: string[] = []
    worker.receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
    expect(await worker.reasons()).toEqual([])

    await admin().flushall()
    await expect.poll(worker.codes, POLL).toEqual(['store_emptied'])
    await expect.poll(intake.codes, POLL).toEqual(['store_emptied'])
    expect(worker.errors[0]?.message).toContain('1 of 1 partitions')
    expect(await worker.receiver.health()).toMatchObject({ live: true, ready: true, working: false })
    expect(await worker.reasons()).toEqual(['store_emptied'])
    expect(await intake.reasons()).toEqual(['store_emptied', 'not_dispatching'])

    // A process that opens afterwards knows nothing of it, and finds the layout again.
    const later = await receivingFrom(prefix)
    expect(await admin().get(`${prefix}:layout`)).toBe('1 1')
    later.receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
    expect((await post(intake.url, callback.smsDelivery({ messageId: 'afterwards' }))).status).toBe(204)
    await expect.poll(() => handled, POLL).toEqual(['afterwards'])
    expect(await later.reasons()).toEqual([])

    await admin().flushall()
    for (const { codes } of [worker, intake]) await expect.poll(codes, POLL).toEqual(['store_emptied', 'store_emptied'])
    await expect.poll(later.codes, POLL).toEqual(['store_emptied'])
  })

  test.each([
    ['keeps nothing on its disk, is', 'no', 2],
    ['loses nothing, is not', 'yes', 1],
  ])('a restart of a server that %s reported', TIMEOUT, async (_, appendonly, reports) => {
    const own = await startRedis({ settings: { appendonly, appendfsync: 'always' } })
    onTestFinished(() => own.remove())
    const { codes, url } = await receivingFrom(freshPrefix(), { at: own })
    const emptied = (): number => codes().filter((code) => code === 'store_emptied').length
    await own.stop()
    await own.start()
    await expect.poll(async () => (await post(url, callback.smsDelivery())).status, POLL).toBe(204)
    if (reports > 1) await expect.poll(emptied, POLL).toBe(reports - 1)
    await admin(own).flushall()
    await expect.poll(emptied, POLL).toBe(reports)
  })
})

interface Process {
  readonly dispatch: boolean
  /** Default: the server of the file. */
  readonly at: RedisServer
}
