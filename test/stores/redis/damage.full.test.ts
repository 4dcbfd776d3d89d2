/** Corrupts each key and field at each moment, on a server for this file. */
import { Redis } from 'ioredis'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { afterAll, test } from 'vitest'
import { damageRedis, REDIS_DAMAGES } from './damages.ts'
import { CLIENTS, clientFor, freshPrefix, describeRedis, REDIS_CAPABILITIES, toldStore, useRedis } from './own-redis.ts'

/** Each damage at one of the five moments in turn, so that each moment is covered; at every moment with DAMAGES=all. */
const AT_ALL = process.env['DAMAGES'] === 'all'
const MOMENTS = 5
/** The next damage starts at the next moment. */
const STRIDE = MOMENTS + 1

describeRedis('corrupted behind its back', () => {
  const server = useRedis({ appendonly: 'no' })
  let admin: Redis | undefined
  afterAll(() => admin?.disconnect())
  let made = 0
  let registered = 0
  storeConformance({
    test(title, run) {
      if (!title.startsWith('damage')) return
      if (AT_ALL || registered % STRIDE === 0) test(title, { timeout: 120_000 }, run)
      registered += 1
    },
    skip() {},
    makeStore() {
      const redis = (admin ??= new Redis(server().url()))
      const prefix = freshPrefix()
      // Each client has its turn.
      const { client, end } = clientFor(CLIENTS[(made += 1) % 2] ?? 'redis', server().url())
      return {
        store: toldStore(client, { prefix }),
        damage: (name, target) => damageRedis(redis, prefix, name, target),
        async dispose() {
          await end()
          // A walk through all keys must not meet those of earlier tests.
          await redis.flushall('ASYNC')
        },
      }
    },
    damages: REDIS_DAMAGES,
    interleavings: 1,
    capabilities: REDIS_CAPABILITIES,
  })
})
