/** The contract, on a real server, with either client. */
import { clientFor, freshPrefix, describeClients, redisConformance, toldStore, useRedis } from './own-redis.ts'

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })
  redisConformance({
    makeStore() {
      const client = clientFor(name, server().url())
      return { store: toldStore(client.client, { prefix: freshPrefix() }), dispose: () => client.end() }
    },
    interleavings: 30,
  })
})
