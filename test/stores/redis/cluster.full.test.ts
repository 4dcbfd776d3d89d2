/** The contract on a real cluster of three masters, with either client. */
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { handOverAll, sample } from '../../../src/store-conformance/samples.ts'
import { useCluster } from './own-cluster.ts'
import {
  CLIENTS,
  clusterClientFor,
  type ClientName,
  freshPrefix,
  opened,
  describeRedis,
  redisConformance,
  toldStore,
} from './own-redis.ts'

const MANY = 300

/** The clients differ in how they send a command, and a command to every master: what a second one is asked that meets all of that. */
const OF_EACH_CLIENT: Readonly<Record<ClientName, RegExp>> = {
  ioredis: /^/,
  redis: /^(admission|bytes|delivery|holders|interleavings)/,
}

describeRedis('on a cluster', () => {
  const nodes = useCluster()

  describe.each(CLIENTS)('with the client %s', (name) => {
    redisConformance({
      makeStore() {
        const { client, end } = clusterClientFor(name, nodes())
        return { store: toldStore(client), dispose: end }
      },
      interleavings: 5,
      only: OF_EACH_CLIENT[name],
    })

    test('spreads messages over all masters, and hands all of them over', { timeout: 120_000 }, async () => {
      const prefix = freshPrefix()
      const open = await opened(clusterClientFor(name, nodes()), { prefix })
      const events = Array.from({ length: MANY }, (_, index) => sample({ message: `{m}${index}` }))
      expect(new Set(await open.admit(events, 1))).toEqual(new Set(['new']))
      for (const node of nodes()) {
        const client = new Redis(node.url())
        // One partition at least, so a few dozen messages, each of several keys.
        expect(await client.dbsize()).toBeGreaterThan(20)
        client.disconnect()
      }
      expect(new Set(await handOverAll(open, 1))).toHaveLength(MANY)
    })
  })
})
