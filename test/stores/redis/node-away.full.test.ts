/** One server of a cluster is away: what the others have goes on, and its own when it is back. */
import { expect, test } from 'vitest'
import { claim, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, opened, describeRedis } from './own-redis.ts'

const PATIENT = { timeout: 180_000 }
const POLL = { timeout: 90_000, interval: 100 }
const MANY = 90

describeRedis('one server of a cluster is away', () => {
  const nodes = useCluster()

  test.each(CLIENTS)('with the client %s', PATIENT, async (name) => {
    const open = await opened(clusterClientFor(name, nodes()), { commandTimeoutMs: 1_000 })
    const events = Array.from({ length: MANY }, (_, index) => sample({ message: `m${index}` }))
    await expect.poll(async () => new Set(await open.admit(events, START_MS)), POLL).toEqual(new Set(['duplicate']))
    const handed = new Set<string>()
    const claimMore = async (): Promise<number> => {
      const { claims } = await claim(open, { limit: MANY })
      for (const { id } of claims) handed.add(id)
      return handed.size
    }
    const last = nodes().at(-1)
    await last?.stop()
    await expect.poll(async () => claimMore().catch(() => 0), POLL).toBeGreaterThan(MANY / 3)
    expect(handed.size).toBeLessThan(MANY)
    await last?.start()
    await expect.poll(async () => claimMore().catch(() => handed.size), POLL).toBe(MANY)
  })
})
