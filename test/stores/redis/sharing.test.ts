/** Several stores on one server: one worker holds a message at a time, by the server's clock, whatever the processes' clocks say. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { sample, settlementOf } from '../../../src/store-conformance/samples.ts'
import type { ClaimResult, OpenStore, StoreHost } from '../../../src/inbox/store.ts'
import { CLIENTS, clientFor, freshPrefix, describeRedis, useRedis, type ClientName } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }
const AN_HOUR_MS = 3_600_000

describeRedis('several stores on one server', () => {
  const server = useRedis({ appendfsync: 'no' })

  /** By the server's clock, as users open it. */
  async function open(
    prefix: string,
    options: { readonly name?: ClientName; readonly listens?: boolean; readonly host?: StoreHost } = {},
  ): Promise<OpenStore> {
    const { name = 'redis', listens = false, host = { onWork() {} } } = options
    const clients = [clientFor(name, server().url()), clientFor(name, server().url())] as const
    const store = redisStore({
      client: clients[0].client,
      ...(listens ? { subscriber: clients[1].client } : {}),
      prefix,
      commandTimeoutMs: 20_000,
      // Only the channel can notify in time.
      ...(listens ? { pollIntervalMs: AN_HOUR_MS } : {}),
    })
    const opened = await store.open(host)
    onTestFinished(async () => {
      await opened.close()
      for (const client of clients) await client.end()
    })
    return opened
  }

  const request = (nowMs: number, leaseMs = AN_HOUR_MS, limit = 100) => ({
    limit,
    nowMs,
    leaseUntilMs: nowMs + leaseMs,
    exclude: new Set<string>(),
  })

  /** Each process estimates the server's time, so an event may be due a moment after its admission. */
  async function claimSome(store: OpenStore, ask: () => ReturnType<typeof request>): Promise<ClaimResult> {
    let found: ClaimResult = { claims: [], nextDueMs: undefined }
    await expect.poll(async () => (found = await store.claim(ask())).claims.length, POLL).toBeGreaterThan(0)
    return found
  }

  test('process clocks that are hours apart decide nothing', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const [slow, fast] = await Promise.all([open(prefix), open(prefix)])
    const slowMs = Date.now() - 5 * AN_HOUR_MS
    const fastMs = Date.now() + 5 * AN_HOUR_MS
    await fast.admit([sample()], fastMs)
    // Due at once, though this clock says it was claimed ten hours from now; and held, though by the other the lease has expired.
    const { claims, nextDueMs } = await claimSome(slow, () => request(slowMs))
    expect(claims).toHaveLength(1)
    expect(nextDueMs).toBeLessThan(slowMs + 2 * AN_HOUR_MS)
    const none = await fast.claim(request(fastMs))
    expect(none.claims).toEqual([])
    expect(none.nextDueMs).toBeGreaterThan(fastMs)
    expect(none.nextDueMs).toBeLessThan(fastMs + 2 * AN_HOUR_MS)
  })

  test.each(CLIENTS)('notifies a listening client of %s of work at once', TIMEOUT, async (name) => {
    const prefix = freshPrefix()
    let received = 0
    await open(prefix, { name, listens: true, host: { onWork: () => (received += 1) } })
    const other = await open(prefix)
    await other.admit([sample()], Date.now())
    await expect.poll(() => received, POLL).toBeGreaterThan(0)
  })

  test(
    'without a listening client, polling finds work; a store that claims nothing does not poll',
    TIMEOUT,
    async () => {
      const prefix = freshPrefix()
      let found = 0
      let foundByTaker = 0
      await open(prefix, { host: { onWork: () => (found += 1) } })
      const taker = await open(prefix, { host: { onWork: () => (foundByTaker += 1), claims: false } })
      await taker.admit([sample()], Date.now())
      await expect.poll(() => found, POLL).toBeGreaterThan(1)
      expect(foundByTaker).toBe(0)
    },
  )

  test('many stores that open an empty prefix at once agree on the layout', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const opened = await Promise.all(Array.from({ length: 12 }, () => open(prefix)))
    expect(await opened[0]?.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test('refuses one of two stores that disagree on the layout', TIMEOUT, async () => {
    const prefix = freshPrefix()
    await open(prefix)
    const client = clientFor('redis', server().url())
    onTestFinished(() => client.end())
    const other = redisStore({ client: client.client, prefix, partitions: 4, commandTimeoutMs: 20_000 })
    await expect(async () => other.open({ onWork() {} })).rejects.toMatchObject({ code: 'options_invalid' })
  })

  test('RESP3 and a key prefix of the client change nothing', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const url = server().url()
    const modern = createClient({ url, RESP: 3 })
    const prefixing = new Redis(url, { lazyConnect: true, keyPrefix: 'of-the-client:' })
    for (const client of [modern, prefixing]) {
      const reports: unknown[] = []
      const store = redisStore({ client, prefix, commandTimeoutMs: 20_000 })
      const opened = await store.open({ onWork() {}, report: (error) => void reports.push(error) })
      onTestFinished(async () => opened.close())
      expect(reports).toEqual([])
      expect(await opened.admit([sample({ at: 1 }), sample({ at: 2 })], Date.now())).toEqual(['new', 'new'])
      const [claim, ...others] = (await claimSome(opened, () => request(Date.now()))).claims
      expect(others).toEqual([])
      if (claim === undefined) throw new Error('Nothing was claimed.')
      expect(claim.raw).toEqual(sample({ at: 1 }).raw)
      expect(await opened.settle([settlementOf(claim, { outcome: 'dead', error: 'no' })], Date.now())).toEqual([true])
      expect(await opened.counts()).toEqual({ unsettled: 1, deadLetters: 1 })
      expect((await opened.deadLetters({ after: undefined, limit: 5 })).items.map(({ id }) => id)).toEqual([claim.id])
    }
  })

  test.each([
    ['a text', 'store_foreign', (redis: Redis, key: string) => redis.set(key, 'mine')],
    ['a hash', 'store_foreign', (redis: Redis, key: string) => redis.hset(key, 'a', 'b')],
    ['a later version', 'store_newer', (redis: Redis, key: string) => redis.set(key, '2 16')],
  ])('refuses a prefix that holds %s: %s', TIMEOUT, async (_, code, put) => {
    const prefix = freshPrefix()
    const redis = new Redis(server().url())
    onTestFinished(() => redis.disconnect())
    await put(redis, `${prefix}:layout`)
    await expect(open(prefix)).rejects.toMatchObject({ code })
  })
})
