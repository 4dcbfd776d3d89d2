/** The contract, with a client that sends every command twice and returns the second answer, as after a cut connection. */
import { retentionOf } from '../../../src/messages/retention.ts'
import type { Adapter } from '../../../src/stores/redis/clients/connection.ts'
import { openRedis } from '../../../src/stores/redis/open.ts'
import { adapterOf } from '../../../src/stores/redis/server.ts'
import { reserve } from '../../../src/stores/redis/scripts.ts'
import { clientFor, describeRedis, freshPrefix, REDIS_CAPABILITIES, useRedis } from './own-redis.ts'
import { conformance } from '../conformance.ts'

function sendingTwice(adapter: Adapter): Adapter {
  return {
    ...adapter,
    async send(key, args) {
      // What is due is reserved for the first command, and found again when the reservation ends.
      if (args.includes(reserve.sha) || args.includes(reserve.text)) return adapter.send(key, args)
      const [, second] = await Promise.all([adapter.send(key, args), adapter.send(key, args)])
      return second
    },
  }
}

describeRedis('every script may run twice', () => {
  const server = useRedis({ appendfsync: 'no' })
  conformance({
    capabilities: REDIS_CAPABILITIES,
    makeStore({ retentionDays = 1, deadLetterDays = 30, dedupeDays = 30 }) {
      const { client, end } = clientFor('ioredis', server().url())
      const settings = {
        client: sendingTwice(adapterOf(client, 'client')),
        subscriber: undefined,
        prefix: freshPrefix(),
        retention: retentionOf({ retentionDays, deadLetterDays, dedupeDays }),
        commandTimeoutMs: 20_000,
        pollIntervalMs: 60_000,
      }
      return { store: { capabilities: REDIS_CAPABILITIES, open: (host) => openRedis(settings, host) }, dispose: end }
    },
    interleavings: 10,
  })
})
