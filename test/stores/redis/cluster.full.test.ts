/** The contract on a real cluster of three masters, with either client. */
import { describe, expect, test } from 'vitest'
import { claim, digestOf, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { useCluster } from './own-cluster.ts'
import {
  CLIENTS,
  clusterClientFor,
  freshPrefix,
  opened,
  describeRedis,
  REDIS_CAPABILITIES,
  toldStore,
  WHERE_CLIENTS_DIFFER,
} from './own-redis.ts'
import { conformance } from '../conformance.ts'

const MANY = 300

describeRedis('on a cluster', () => {
  const nodes = useCluster()

  describe.each(CLIENTS)('with the client %s', (name) => {
    conformance({
      capabilities: REDIS_CAPABILITIES,
      makeStore() {
        const { client, end } = clusterClientFor(name, nodes())
        return { store: toldStore(client), dispose: end }
      },
      interleavings: 5,
      // On a single server these are the other way round.
      only: name === 'ioredis' ? undefined : WHERE_CLIENTS_DIFFER,
    })

    test('a report waits for a pending send of another process, wherever either is stored', async () => {
      const prefix = freshPrefix()
      const sender = await opened(clusterClientFor(name, nodes()), { prefix })
      const open = await opened(clusterClientFor(name, nodes()), { prefix })
      const [messageKey, nowMs] = [digestOf('send'), START_MS]
      const overdueAtMs = nowMs + 120_000
      const begun = { sentAtMs: nowMs, overdueAtMs, recipients: 1 }
      await sender.expect?.([{ messageKey, sentAtMs: nowMs, overdueAtMs, expectation: begun }], nowMs)
      const events = Array.from({ length: MANY }, (_, index) => sample({ message: `m${index}` }))
      const request = { limit: MANY, leaseUntilMs: nowMs + 60_000, exclude: new Set<string>() }
      expect(await open.admitAndClaim?.(events, { ...request, nowMs })).toMatchObject({ claims: [] })
      const [mine] = events
      const message = { messageKey: mine?.messageKey ?? '', sentAtMs: nowMs, overdueAtMs: undefined }
      await sender.expect?.([{ ...message, expectation: { sentAtMs: nowMs, to: '1' } }], nowMs + 1)
      const { claims } = await claim(open, { ...request, nowMs: nowMs + 1 })
      expect(claims).toMatchObject([{ id: mine?.id, attempt: 1, expected: { expectation: { to: '1' } } }])
      await sender.awaitNoMore?.([{ messageKey, expectation: { sentAtMs: nowMs, recipients: 0 } }], nowMs + 2)
      const others = await claim(open, { ...request, nowMs: nowMs + 300 })
      expect(others.claims.map(({ id }) => id).toSorted()).toEqual(
        events
          .slice(1)
          .map(({ id }) => id)
          .toSorted(),
      )
    })
  })
})
