/** Holders on a cluster: in each partition another name, and one process all the same. */
import { redisStore } from 'messaging-webhooks/redis'
import type { Claim, OpenStore } from 'messaging-webhooks/store'
import { expect, onTestFinished, test } from 'vitest'
import { claim, sample, settlementOf } from '../../../src/store-conformance/samples.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, describeRedis, freshPrefix, type ClientName } from './own-redis.ts'

const PATIENT = { timeout: 180_000 }
const POLL = { timeout: 60_000, interval: 100 }
const LONG_LEASE_MS = 600_000
const MANY = 200

describeRedis('holders on a cluster', () => {
  const nodes = useCluster()

  async function open(name: ClientName, prefix: string) {
    const { client, end } = clusterClientFor(name, nodes())
    const store = await redisStore({ client, prefix, commandTimeoutMs: 2_000 }).open({ onWork() {} })
    onTestFinished(async () => {
      await store.close()
      await end()
    })
    return { store, end }
  }

  function claimNow(store: OpenStore) {
    const nowMs = Date.now()
    return claim(store, { nowMs, leaseUntilMs: nowMs + LONG_LEASE_MS, limit: 2 * MANY })
  }

  test.each(CLIENTS)(
    'with the client %s: what dies and what closes comes back from every partition',
    PATIENT,
    async (name) => {
      const prefix = freshPrefix()
      const [dying, closing, other] = [await open(name, prefix), await open(name, prefix), await open(name, prefix)]
      const events = Array.from({ length: MANY }, (_, index) => sample({ message: `m${index}` }))
      await expect
        .poll(async () => new Set(await other.store.admit(events, Date.now())), POLL)
        .toEqual(new Set(['duplicate']))
      expect((await claimNow(dying.store)).claims).toHaveLength(MANY)
      expect((await claimNow(other.store)).claims).toEqual([])
      const all = await other.store.holders?.()
      expect(all?.map(({ isSelf, held }) => [isSelf, held])).toEqual([
        [false, MANY],
        [false, 0],
        [true, 0],
      ])
      // Without a farewell.
      await dying.end()
      const again: Claim[] = []
      await expect.poll(async () => again.push(...(await claimNow(closing.store)).claims), POLL).toBe(MANY)
      expect(new Set(again.map(({ attempt }) => attempt))).toEqual(new Set([2]))
      await closing.store.close()
      const third = (await claimNow(other.store)).claims
      expect(third).toHaveLength(MANY)
      expect(await other.store.holders?.()).toMatchObject([{ isSelf: true, held: MANY }])
      const lost = await other.store.settle(
        again.map((each) => settlementOf(each, { outcome: 'done' })),
        Date.now(),
      )
      expect(lost).not.toContain(true)
    },
  )
})
