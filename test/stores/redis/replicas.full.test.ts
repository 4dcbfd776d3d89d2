/** `waitReplicas`: nothing counts until a replica has it, whichever client asks and whichever process wrote it. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import type { MessageStore } from 'messaging-webhooks/store'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { admit, sample } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import { startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { REPLICABLE, startReplica } from '../../support/servers/redis-replica.ts'
import { clientFor, describeClients, freshPrefix } from './own-redis.ts'

const POLL = { timeout: 60_000, interval: 50 }
const TIMEOUT = { timeout: 120_000 }

describeClients((name) => {
  let primary: RedisServer
  let replica: RedisServer
  beforeAll(async () => {
    primary = await startRedis({ settings: { ...REPLICABLE, appendfsync: 'no' } })
    replica = await startReplica(primary, { appendfsync: 'no' })
    await vi.waitFor(async () => expect(await replicas()).toBe(1), POLL)
  })
  afterAll(() => Promise.all([primary.remove(), replica.remove()]))

  async function on<T>({ url }: RedisServer, work: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(url())
    try {
      return await work(client)
    } finally {
      client.disconnect()
    }
  }

  const replicas = () => on(primary, (client) => client.wait(1, 1_000))
  const recordsOn = (server: RedisServer, prefix: string) =>
    on(server, async (client) => (await client.keys(`${prefix}:*:r:*`)).length)

  async function opened(prefix: string, waitReplicas = 1): Promise<MessageStore> {
    const { client, end } = clientFor(name, primary.url())
    const open = await redisStore({ client, prefix, waitReplicas, commandTimeoutMs: 20_000 }).open(hostOf())
    onTestFinished(async () => {
      await open.close()
      await end()
    })
    return open
  }

  test('accepts nothing, not even a duplicate, while the replica is down', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const [open, other] = [await opened(prefix), await opened(prefix)]
    const event = sample({ message: 'm' })
    const refusal = { code: 'store_failed', message: expect.stringContaining('0 of 1 replicas') as string }
    await replica.stop()
    await expect(async () => admit(open, [event])).rejects.toMatchObject(refusal)
    // The primary has it. A process that did not write it must not treat it as confirmed either.
    expect(await recordsOn(primary, prefix)).toBe(1)
    for (const one of [open, other]) await expect(async () => admit(one, [event])).rejects.toMatchObject(refusal)
    // Without the option, the primary decides.
    expect(await admit(await opened(prefix, 0), [event])).toEqual(['duplicate'])

    await replica.start()
    await expect.poll(async () => admit(open, [event]), POLL).toEqual(['duplicate'])
    expect(await recordsOn(replica, prefix)).toBe(1)
  })
})
