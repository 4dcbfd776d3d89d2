/** The contract, on a real server, with either client. */
import {
  clientFor,
  describeClients,
  REDIS_CAPABILITIES,
  testStore,
  useRedis,
  WHERE_CLIENTS_DIFFER,
} from './own-redis.ts'
import { conformance } from '../conformance.ts'

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })
  conformance({
    capabilities: REDIS_CAPABILITIES,
    makeStore(retention) {
      const client = clientFor(name, server().url())
      return { store: testStore(client.client, retention), dispose: () => client.end() }
    },
    interleavings: 30,
    // On a cluster it is the other way round.
    only: name === 'redis' ? undefined : WHERE_CLIENTS_DIFFER,
  })
})
