/** Faults on a cluster of three masters: processes leave, a server is emptied or stopped, slots have no server. */
import { Redis } from 'ioredis'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { redisStore } from 'messaging-webhooks/redis'
import type { NewEvent } from 'messaging-webhooks/store'
import { expect, onTestFinished, test } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import type { Claim } from '../../../src/dispatch/claim.ts'
import type { MessageStore } from '../../../src/inbox/store.ts'
import { admit, claim, samplesOf, settleAll } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import type { RedisServer } from '../../support/servers/redis.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, describeRedis, freshPrefix, opened, type ClientName } from './own-redis.ts'

const TIMEOUT = { timeout: 180_000 }
const POLL = { timeout: 90_000, interval: 100 }
const LONG_LEASE_MS = 600_000
const MANY = 90
const PARTITIONS = 16

/**
 * Stops a server that has some of the events; which partitions it has depends on the test's prefix. Restarts it even if
 * the test fails, because the next test needs it. `isReachable`: whether the partition of an event is on another server.
 */
async function stopOne(servers: readonly RedisServer[], prefix: string) {
  const { of } = createPartitions(prefix, PARTITIONS)
  for (const server of servers.toReversed()) {
    const keys = await keysOn(server, prefix)
    if (keys.length === 0) continue
    const isReachable = ({ messageKey }: NewEvent) => !keys.some((key) => key.startsWith(of(messageKey).base))
    let isUnavailable = true
    async function start(): Promise<void> {
      if (!isUnavailable) return
      isUnavailable = false
      await server.start()
    }
    await server.stop()
    onTestFinished(start)
    return { isReachable, start }
  }
  throw new Error('No server has any of the events.')
}

async function keysOn(server: RedisServer, prefix: string): Promise<readonly string[]> {
  const client = new Redis(server.url())
  try {
    return await client.keys(`${prefix}:*`)
  } finally {
    client.disconnect()
  }
}

describeRedis('faults of a cluster', () => {
  const nodes = useCluster()

  async function openLive(name: ClientName, prefix: string) {
    const { client, end } = clusterClientFor(name, nodes())
    // The store does not connect the client of the application again.
    await client.connect()
    const store = await redisStore({ client, prefix, commandTimeoutMs: 2_000 }).open(hostOf())
    onTestFinished(async () => {
      await store.close()
      await end()
    })
    return { store, end }
  }

  function claimNow(store: MessageStore) {
    return claim(store, { leaseForMs: LONG_LEASE_MS })
  }

  test.each(CLIENTS)(
    'leases of a process that dies, and of one that closes, return from every partition (%s)',
    TIMEOUT,
    async (name) => {
      const prefix = freshPrefix()
      const [dying, closing, other] = [
        await openLive(name, prefix),
        await openLive(name, prefix),
        await openLive(name, prefix),
      ]
      const events = samplesOf(MANY)
      await expect.poll(async () => new Set(await admit(other.store, events)), POLL).toEqual(new Set(['duplicate']))
      expect((await claimNow(dying.store)).claims).toHaveLength(MANY)
      expect((await claimNow(other.store)).claims).toEqual([])
      const all = await other.store.workers?.()
      expect(all?.map(({ isSelf, held }) => [isSelf, held])).toEqual([
        [false, MANY],
        [false, 0],
        [true, 0],
      ])
      // Without deregistering.
      await dying.end()
      const again: Claim[] = []
      await expect.poll(async () => again.push(...(await claimNow(closing.store)).claims), POLL).toBe(MANY)
      expect(new Set(again.map(({ attempt }) => attempt))).toEqual(new Set([2]))
      await closing.store.close()
      const third = (await claimNow(other.store)).claims
      expect(third).toHaveLength(MANY)
      expect(await other.store.workers?.()).toMatchObject([{ isSelf: true, held: MANY }])
      const lost = await settleAll(other.store, again)
      expect(lost).not.toContain(true)
    },
  )

  test.each(CLIENTS)('reports an emptied server with the number of partitions it had (%s)', TIMEOUT, async (name) => {
    const errors: MessagingWebhooksError[] = []
    const host = { report: (error: MessagingWebhooksError) => void errors.push(error) }
    const prefix = freshPrefix()
    await opened(clusterClientFor(name, nodes()), { partitions: 24, prefix }, host)
    const [first] = nodes()
    const admin = new Redis(first?.url() ?? '')
    onTestFinished(() => admin.disconnect())
    // Each partition has one mark.
    const marks = (await admin.keys(`${prefix}:*:mark`)).length
    expect(marks).toBeGreaterThan(0)
    expect(marks).toBeLessThan(24)

    await admin.flushall()
    await expect.poll(() => errors.map(({ code }) => code), POLL).toContain('store_emptied')
    const reported = (): number =>
      errors.reduce((sum, { message }) => sum + Number(/(\d+) of 24 partitions/.exec(message)?.[1] ?? 0), 0)
    await expect.poll(reported, POLL).toBe(marks)
    expect((await admin.keys(`${prefix}:*:mark`)).length).toBe(marks)
  })

  test.each(CLIENTS)(
    'while one server is unavailable, the others continue, and its own events follow when it is back (%s)',
    TIMEOUT,
    async (name) => {
      const prefix = freshPrefix()
      const open = await opened(clusterClientFor(name, nodes()), {
        commandTimeoutMs: 1_000,
        prefix,
        partitions: PARTITIONS,
      })
      const events = samplesOf(MANY)
      await expect.poll(async () => new Set(await admit(open, events)), POLL).toEqual(new Set(['duplicate']))
      const claimed = new Set<string>()
      const claimMore = async (): Promise<number> => {
        const { claims } = await claim(open)
        for (const { id } of claims) claimed.add(id)
        return claimed.size
      }
      const { isReachable, start } = await stopOne(nodes(), prefix)
      await expect.poll(async () => claimMore().catch(() => 0), POLL).toBe(events.filter(isReachable).length)
      expect(claimed.size).toBeLessThan(MANY)
      await start()
      await expect.poll(async () => claimMore().catch(() => claimed.size), POLL).toBe(MANY)
    },
  )

  test.each(CLIENTS)('a client polls the slots while some of them have no server (%s)', TIMEOUT, async (name) => {
    const [node] = nodes()
    if (node === undefined) throw new Error('There is no cluster.')
    const direct = new Redis(node.url())
    onTestFinished(() => direct.disconnect())
    const slots = ['0', '5460'] as const
    await direct.call('CLUSTER', 'DELSLOTSRANGE', ...slots)
    const client = clusterClientFor(name, [node])
    const connecting = client.client.connect()
    onTestFinished(() => client.end())
    await connecting
    await direct.call('CLUSTER', 'ADDSLOTSRANGE', ...slots)
    const open = await opened(client)
    const events = samplesOf(MANY)
    expect(new Set(await admit(open, events))).toEqual(new Set(['new']))
  })
})
