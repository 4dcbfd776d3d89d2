/** The contract, on a real server, with either client. */
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { clientFor, freshPrefix, describeClients, toldStore, useRedis } from './own-redis.ts'

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })
  storeConformance({
    test(title, run) {
      test(title, { timeout: 120_000 }, run)
    },
    skip(title, reason) {
      test.skip(`${title} (${reason})`)
    },
    makeStore() {
      const client = clientFor(name, server().url())
      return { store: toldStore(client.client, { prefix: freshPrefix() }), dispose: () => client.end() }
    },
    interleavings: 30,
    capabilities: {
      name: 'redis',
      durable: true,
      shared: true,
      ownClock: true,
      admitsAndClaims: true,
      listsEvents: true,
    },
  })
})
