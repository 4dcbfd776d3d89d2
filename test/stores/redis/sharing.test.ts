/** Several stores on one server: one worker holds a message at a time, by the server's clock, whatever the processes' clocks say. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, DEAD, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import type { Claimed } from '../../../src/dispatch/claim.ts'
import { itemsOf, PAGE } from '../../../src/store-conformance/suite.ts'
import type { MessageStore, StoreHost } from '../../../src/inbox/store.ts'
import { hostOf } from '../../support/stores.ts'
import { CLIENTS, clientFor, freshPrefix, describeRedis, useRedis, type ClientName } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }
const AN_HOUR_MS = 3_600_000

describeRedis('several stores on one server', () => {
  const server = useRedis({ appendfsync: 'no' })

  /** By the server's clock, as users open it. */
  async function open(
    prefix: string,
    options: { readonly name?: ClientName; readonly listens?: boolean; readonly host?: Partial<StoreHost> } = {},
  ): Promise<MessageStore> {
    const { name = 'redis', listens = false, host = {} } = options
    const clients = [clientFor(name, server().url()), clientFor(name, server().url())] as const
    const store = redisStore({
      client: clients[0].client,
      ...(listens ? { subscriber: clients[1].client } : {}),
      prefix,
      commandTimeoutMs: 20_000,
      // Only the channel can notify in time.
      ...(listens ? { pollIntervalMs: AN_HOUR_MS } : {}),
    })
    const opened = await store.open(hostOf(host))
    onTestFinished(async () => {
      await opened.close()
      for (const client of clients) await client.end()
    })
    return opened
  }

  /** Each process estimates the server's time, so an event may be due a moment after its admission. */
  async function claimSome(store: MessageStore): Promise<Claimed> {
    let found: Claimed = { claims: [], nextInMs: undefined }
    const leaseForMs = AN_HOUR_MS
    await expect.poll(async () => (found = await claim(store, { leaseForMs })).claims.length, POLL).toBeGreaterThan(0)
    return found
  }

  test('process clocks that are hours apart decide nothing', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const byClock = (aheadMs: number) => open(prefix, { host: { nowMs: () => Date.now() + aheadMs } })
    const [slow, fast] = await Promise.all([byClock(-5 * AN_HOUR_MS), byClock(5 * AN_HOUR_MS)])
    await admit(fast, [sample()])
    expect((await claimSome(slow)).claims).toHaveLength(1)
    for (const each of [slow, fast]) {
      const { claims, nextInMs } = await claim(each)
      expect(claims).toEqual([])
      expect(nextInMs).toBeGreaterThan(0)
      expect(nextInMs).toBeLessThanOrEqual(AN_HOUR_MS)
    }
  })

  test('in a batch, a message that another store has changed holds up no other', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const [one, other] = await Promise.all([open(prefix), open(prefix)])
    await admit(one, [sample({ at: 1 })])
    await admit(other, [sample({ at: 2 })])
    const messages = Array.from({ length: 20 }, (_, index) => sample({ message: `m-${index}` }))
    expect(await admit(one, [...messages, sample({ at: 3 })])).toEqual([...messages, 'm'].map(() => 'new'))
    expect(await other.counts()).toEqual({ unsettled: 23, deadLetters: 0 })
    // What was answered is stored, not only remembered.
    expect(await admit(other, [...messages, sample({ at: 3 })])).toEqual([...messages, 'm'].map(() => 'duplicate'))
  })

  test.each(CLIENTS)('notifies a listening client of %s of work at once', TIMEOUT, async (name) => {
    const prefix = freshPrefix()
    let received = 0
    await open(prefix, { name, listens: true, host: { onWork: () => (received += 1) } })
    const other = await open(prefix)
    await admit(other, [sample()])
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
      await admit(taker, [sample()])
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
    await expect(async () => other.open(hostOf())).rejects.toMatchObject({ code: 'options_invalid' })
  })

  test('RESP3 and a key prefix of the client change nothing', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const url = server().url()
    const modern = createClient({ url, RESP: 3 })
    const prefixing = new Redis(url, { lazyConnect: true, keyPrefix: 'of-the-client:' })
    for (const client of [modern, prefixing]) {
      const reports: unknown[] = []
      const store = redisStore({ client, prefix, commandTimeoutMs: 20_000 })
      const opened = await store.open(hostOf({ report: (error) => void reports.push(error) }))
      onTestFinished(async () => opened.close())
      expect(reports).toEqual([])
      expect(await admit(opened, [sample({ at: 1 }), sample({ at: 2 })])).toEqual(['new', 'new'])
      const [claimed, ...others] = (await claimSome(opened)).claims
      expect(others).toEqual([])
      if (claimed === undefined) throw new Error('Nothing was claimed.')
      expect(claimed.raw).toEqual(sample({ at: 1 }).raw)
      expect(await settleAll(opened, [claimed], DEAD)).toEqual([true])
      expect(await opened.counts()).toEqual({ unsettled: 1, deadLetters: 1 })
      expect((await itemsOf(opened, { of: 'deadLetters', ...PAGE })).map(({ id }) => id)).toEqual([claimed.id])
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
