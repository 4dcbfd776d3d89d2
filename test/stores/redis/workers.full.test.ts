/** Other workers get the leases of a dead or silent process within seconds, and never those of a living one. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import type { StoreHost } from 'messaging-webhooks/store'
import { test, type TestContext } from 'vitest'
import type { Claim } from '../../../src/dispatch/claim.ts'
import type { MessageStore } from '../../../src/inbox/store.ts'
import { admit, claim, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import { WORKER_NAME } from '../../../src/stores/holding.ts'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { hostOf } from '../../support/stores.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { clientFor, describeRedis, freshPrefix, useRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000, interval: 100 }
/** Much longer than any test runs: an event that returns earlier did not return because its lease expired. */
const LONG_LEASE_MS = 600_000
/** The silence after which a process counts as dead, and some time for others to notice. */
const DEATH_MS = 12_000

/** The tests mostly wait, so they run concurrently, each with its own cleanup. */
type AtEnd = TestContext['onTestFinished']

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/** `die`: stops without deregistering. */
async function open(
  onTestFinished: AtEnd,
  url: string,
  prefix: string,
  host: Partial<StoreHost> = {},
): Promise<MessageStore & { readonly die: () => Promise<void> }> {
  const { client, end } = clientFor('redis', url)
  // The store does not connect the client of the application again.
  await client.connect()
  const opened = await redisStore({ client, prefix, commandTimeoutMs: 2_000 }).open(hostOf(host))
  onTestFinished(async () => {
    await opened.close()
    await end()
  })
  return { ...opened, die: end }
}

function claimNow(store: MessageStore) {
  return claim(store, { leaseForMs: LONG_LEASE_MS })
}

const briefly = (claims: readonly Claim[]) => claims.map(({ id, token, attempt }) => ({ id, token, attempt }))

/** Claims until there is something. */
async function claimSome(expect: TestContext['expect'], store: MessageStore): Promise<readonly Claim[]> {
  let claims: readonly Claim[] = []
  await expect.poll(async () => (claims = (await claimNow(store)).claims).length, POLL).toBeGreaterThan(0)
  return claims
}

describeRedis('workers on Redis', () => {
  const server = useRedis({ appendfsync: 'no' })

  function admin(onTestFinished: AtEnd): Redis {
    const redis = new Redis(server().url())
    onTestFinished(() => redis.disconnect())
    return redis
  }

  /** The key with this name in the only partition of a store on one server. */
  async function ownKey(expect: TestContext['expect'], redis: Redis, prefix: string, name: string): Promise<string> {
    const [, [found = '', ...others]] = await redis.scan('0', 'MATCH', `${prefix}:{*}:${name}`, 'COUNT', 1_000_000)
    expect(others).toEqual([])
    return found
  }

  test.concurrent(
    'another worker gets what a silent process holds; a living one keeps its own; the silent one finds out',
    TIMEOUT,
    async ({ expect, onTestFinished }) => {
      const prefix = freshPrefix()
      const proxy = await startTcpProxy(server().port)
      onTestFinished(() => proxy.close())
      let losses = 0
      const isLost: boolean[] = []
      const event = sample()
      const silent = await open(onTestFinished, server().url({ port: proxy.port }), prefix, {
        onLost(isAmong) {
          losses += 1
          isLost.push(isAmong(event.messageKey))
        },
      })
      let woken = 0
      const [living, other] = await Promise.all([
        open(onTestFinished, server().url(), prefix),
        open(onTestFinished, server().url(), prefix, { onWork: () => (woken += 1) }),
      ])
      await admit(living, [sample({ message: 'kept' })])
      const kept = await claimSome(expect, living)
      expect(kept).toHaveLength(1)
      await admit(silent, [event])
      const [first] = await claimSome(expect, silent)
      if (first === undefined) throw new Error('Nothing was claimed.')
      expect(silent.isHeld?.(event.messageKey)).toBe(true)
      expect((await claimNow(other)).claims).toEqual([])

      // An idle store had no workers before, so all get their time again.
      await sleep(DEATH_MS)
      woken = 0
      proxy.mode = 'stalls'
      // Its pending request arrives when it is already dead.
      const refused = expect(claimNow(silent)).rejects.toMatchObject({ code: 'store_slow' })
      // An idle worker polls by itself.
      await expect.poll(() => woken, POLL).toBeGreaterThan(0)
      const [again, ...rest] = await claimSome(expect, other)
      expect(rest).toEqual([])
      expect(again).toMatchObject({ id: first.id, attempt: 2 })
      expect(again?.token).toBeGreaterThan(first.token)
      expect(silent.isHeld?.(event.messageKey)).toBe(false)
      await refused

      await settleAll(other, [again ?? first], { outcome: 'retry', inMs: 0 })
      proxy.mode = 'passes'
      expect(await settleAll(silent, [first])).toEqual([false])
      await expect.poll(() => losses, POLL).toBeGreaterThan(0)
      expect(isLost).not.toContain(false)
      const third = await claimSome(expect, silent)
      expect(third).toMatchObject([{ id: first.id, attempt: 3 }])
      expect(await settleAll(silent, third)).toEqual([true])
      expect(await settleAll(living, kept)).toEqual([true])
    },
  )

  test.concurrent.for([
    ['deleted', ['DEL']],
    ['a text', ['SET', 'another value']],
  ] as const)(
    'a list of workers that is %s affects no living worker',
    TIMEOUT,
    async ([, [command, ...args]], { expect, onTestFinished }) => {
      const prefix = freshPrefix()
      let losses = 0
      const reports: unknown[] = []
      const host = { onLost: () => (losses += 1), report: (error: unknown) => void reports.push(error) }
      const [first, second] = await Promise.all([
        open(onTestFinished, server().url(), prefix, host),
        open(onTestFinished, server().url(), prefix, host),
      ])
      const redis = admin(onTestFinished)
      const workers = await ownKey(expect, redis, prefix, 'workers')
      await admit(first, [sample({ message: 'a' })])
      const claims = await claimSome(expect, first)
      expect(claims).toHaveLength(1)
      await redis.call(command, workers, ...args)
      await admit(first, [sample({ message: 'b' })])
      const more = await claimSome(expect, first)
      expect(more).toHaveLength(1)
      await sleep(DEATH_MS)
      expect((await claimNow(second)).claims).toEqual([])
      expect(losses).toBe(0)
      expect((await first.workers?.())?.map(({ name, held }) => [name, held]).toSorted()).toEqual([
        [WORKER_NAME, 0],
        [WORKER_NAME, 2],
      ])
      expect(await settleAll(first, [...claims, ...more])).toEqual([true, true])
      expect(reports).toEqual([])
    },
  )

  test.concurrent(
    'releases leases of workers missing from the list even if the first search for them fails',
    TIMEOUT,
    async ({ expect, onTestFinished }) => {
      const prefix = freshPrefix()
      const dying = await open(onTestFinished, server().url(), prefix)
      const other = await open(onTestFinished, server().url(), prefix)
      await admit(other, [sample()])
      const [first] = await claimSome(expect, dying)
      await dying.die()
      const redis = admin(onTestFinished)
      const leased = await ownKey(expect, redis, prefix, 'leased')
      await redis.rename(leased, `${prefix}:kept`)
      await redis.set(leased, 'no set')
      await redis.del(await ownKey(expect, redis, prefix, 'workers'))
      await sleep(DEATH_MS)
      await redis.rename(`${prefix}:kept`, leased)
      expect(briefly(await claimSome(expect, other))).toEqual([{ id: first?.id, token: 2, attempt: 2 }])
    },
  )

  test.concurrent(
    'a leased record that cannot be read does not stop heartbeats',
    TIMEOUT,
    async ({ expect, onTestFinished }) => {
      const prefix = freshPrefix()
      let losses = 0
      const [living, leaving] = await Promise.all([
        open(onTestFinished, server().url(), prefix, { onLost: () => (losses += 1) }),
        open(onTestFinished, server().url(), prefix),
      ])
      const event = sample()
      await admit(living, [event])
      expect(await claimSome(expect, living)).toHaveLength(1)
      const redis = admin(onTestFinished)
      const unreadable = sample({ message: 'unreadable' }).messageKey
      const { base } = createPartitions(prefix, 1).of(unreadable)
      await redis.set(`${base}r:${unreadable}`, '000000000001[no')
      await redis.zadd(`${base}leased`, Date.now() + LONG_LEASE_MS, unreadable)
      // From now on each heartbeat searches for its leases.
      await leaving.close()
      await sleep(DEATH_MS)
      expect(living.isHeld?.(event.messageKey)).toBe(true)
      expect(losses).toBe(0)
      expect(await living.workers?.()).toMatchObject([{ isSelf: true, held: 1 }])
    },
  )
})
