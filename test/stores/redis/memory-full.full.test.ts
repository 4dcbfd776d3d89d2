/** What a server that is full, or that evicts keys, does to a store. */
import { Redis } from 'ioredis'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { redisStore } from 'messaging-webhooks/redis'
import { expect, onTestFinished, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, claim, sample } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import { startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { clientFor, CLIENTS, opened, describeRedis, type ClientName } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }

async function start(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  const server = await startRedis({ settings: { appendonly: 'no', ...settings } })
  onTestFinished(() => server.remove())
  return server
}

/** The problems that opening a store reports. */
async function reportedBy(name: ClientName, url: string): Promise<readonly MessagingWebhooksError[]> {
  const errors: MessagingWebhooksError[] = []
  const { client, end } = clientFor(name, url)
  const open = await redisStore({ client, commandTimeoutMs: 20_000 }).open(
    hostOf({ report: (error) => void errors.push(error) }),
  )
  await open.close()
  await end()
  return errors
}

describeRedis('a server whose memory ends', () => {
  test.each(CLIENTS)(
    'reports the policy of a server that evicts, or that it is unknown, by the client %s',
    TIMEOUT,
    async (name) => {
      const server = await start({ 'maxmemory-policy': 'noeviction' })
      const admin = new Redis(server.url())
      onTestFinished(() => admin.disconnect())
      const messages = async () => (await reportedBy(name, server.url())).map(({ message }) => message)
      expect(await messages()).toEqual([])
      await admin.config('SET', 'maxmemory-policy', 'volatile-lru')
      expect(await messages()).toMatchObject([expect.stringContaining('Its maxmemory-policy is volatile-lru.')])
      // ioredis itself sends INFO before it is ready, and tolerates a refusal.
      await admin.call('ACL', 'SETUSER', 'default', '-info')
      expect(await messages()).toMatchObject([expect.stringContaining('does not tell the maxmemory-policy')])
    },
  )

  test('a full server stores nothing in part, dispatches what it holds, and accepts again later', TIMEOUT, async () => {
    const server = await start()
    const open = await opened(clientFor('redis', server.url()))
    const batch = (from: number) =>
      Array.from({ length: 20 }, (_, index) => sample({ message: `m${from + index}`, raw: Buffer.alloc(2_000, 1) }))
    await admit(open, batch(0))
    const admin = new Redis(server.url())
    onTestFinished(() => admin.disconnect())
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
    await admin.config('SET', 'maxmemory', String(used - 1_000))

    const refused = (): Promise<unknown> => admit(open, batch(20))
    await expect(refused).rejects.toMatchObject({ code: 'store_failed' })
    await expect(refused).rejects.toThrow('Redis is full')
    expect(await open.counts()).toEqual({ unsettled: 20, deadLetters: 0 })
    expect(new Set(await admit(open, batch(0)))).toEqual(new Set(['duplicate']))
    expect((await claim(open, { limit: 5 })).claims).toHaveLength(5)
    expect(await dispatchAll(open)).toHaveLength(15)

    await admin.config('SET', 'maxmemory', '0')
    expect(new Set(await admit(open, batch(20)))).toEqual(new Set(['new']))
  })
})
