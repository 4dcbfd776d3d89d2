/** The contract on a real cluster of three masters, with either client. */
import { describe } from 'vitest'
import { useCluster } from './own-cluster.ts'
import {
  CLIENTS,
  clusterClientFor,
  describeRedis,
  REDIS_CAPABILITIES,
  testStore,
  WHERE_CLIENTS_DIFFER,
} from './own-redis.ts'
import { conformance } from '../conformance.ts'

describeRedis('on a cluster', () => {
  const nodes = useCluster()

  describe.each(CLIENTS)('with the client %s', (name) => {
    conformance({
      capabilities: REDIS_CAPABILITIES,
      makeStore(retention) {
        const { client, end } = clusterClientFor(name, nodes())
        return { store: testStore(client, retention), dispose: end }
      },
      interleavings: 5,
      // On a single server these are the other way round.
      only: name === 'ioredis' ? undefined : WHERE_CLIENTS_DIFFER,
    })
  })
})
