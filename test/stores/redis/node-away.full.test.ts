/** One server of a cluster is away: what the others have goes on, and its own when it is back. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../../src/inbox/store.ts'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { claim, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import type { RedisServer } from '../../support/servers/redis.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, opened, describeRedis, freshPrefix } from './own-redis.ts'

const PATIENT = { timeout: 180_000 }
const POLL = { timeout: 90_000, interval: 100 }
const MANY = 90
const PARTITIONS = 16

/**
 * Stops a server that has some of the events: partitions lie where the prefix of a test happens to put them. It comes back even if
 * the test fails, for the next one needs it. `isReachable`: whether the partition of an event is on another server.
 */
async function stopOne(servers: readonly RedisServer[], prefix: string) {
  const { of } = createPartitions(prefix, PARTITIONS, true)
  for (const server of servers.toReversed()) {
    const keys = await keysOn(server, prefix)
    if (keys.length === 0) continue
    const isReachable = ({ messageKey }: NewEvent) => !keys.some((key) => key.startsWith(of(messageKey).base))
    let isAway = true
    async function start(): Promise<void> {
      if (!isAway) return
      isAway = false
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

describeRedis('one server of a cluster is away', () => {
  const nodes = useCluster()

  test.each(CLIENTS)('with the client %s', PATIENT, async (name) => {
    const prefix = freshPrefix()
    const open = await opened(clusterClientFor(name, nodes()), {
      commandTimeoutMs: 1_000,
      prefix,
      partitions: PARTITIONS,
    })
    const events = Array.from({ length: MANY }, (_, index) => sample({ message: `m${index}` }))
    await expect.poll(async () => new Set(await open.admit(events, START_MS)), POLL).toEqual(new Set(['duplicate']))
    const handed = new Set<string>()
    const claimMore = async (): Promise<number> => {
      const { claims } = await claim(open, { limit: MANY })
      for (const { id } of claims) handed.add(id)
      return handed.size
    }
    const { isReachable, start } = await stopOne(nodes(), prefix)
    await expect.poll(async () => claimMore().catch(() => 0), POLL).toBe(events.filter(isReachable).length)
    expect(handed.size).toBeLessThan(MANY)
    await start()
    await expect.poll(async () => claimMore().catch(() => handed.size), POLL).toBe(MANY)
  })

  test.each(CLIENTS)('leases that it may have granted keep nothing from the others (%s)', PATIENT, async (name) => {
    const prefix = freshPrefix()
    const open = await opened(clusterClientFor(name, nodes()), {
      commandTimeoutMs: 1_000,
      prefix,
      partitions: PARTITIONS,
    })
    const named = (word: string) => Array.from({ length: MANY }, (_, index) => sample({ message: `${word}${index}` }))
    const [known, events] = [named('known'), named('new')]
    await expect.poll(async () => new Set(await open.admit(known, START_MS)), POLL).toEqual(new Set(['duplicate']))
    const { isReachable, start } = await stopOne(nodes(), prefix)
    const request = { limit: MANY, nowMs: START_MS, leaseUntilMs: START_MS + 600_000, exclude: new Set<string>() }
    await expect(async () => open.admitAndClaim?.(events, request)).rejects.toThrow()
    const handed = new Set<string>()
    const claimMore = async (): Promise<number> => {
      const { claims } = await claim(open, { limit: 2 * MANY })
      for (const { id } of claims) handed.add(id)
      return events.filter(({ id }) => handed.has(id)).length
    }
    await expect.poll(async () => claimMore().catch(() => 0), POLL).toBe(events.filter(isReachable).length)
    await start()
    // What it did not take is admitted again, as from the spool.
    await expect.poll(async () => new Set(await open.admit(events, START_MS)), POLL).toEqual(new Set(['duplicate']))
    await expect.poll(async () => claimMore().catch(() => 0), POLL).toBe(MANY)
  })
})
