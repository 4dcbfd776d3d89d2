/** Corrupts each key and field at each moment, on a server for this file. */
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { testDamages } from '../damage.ts'
import { damageRedis, REDIS_DAMAGES } from './damages.ts'
import { CLIENTS, clientFor, freshPrefix, describeRedis, toldStore, useRedis } from './own-redis.ts'

describeRedis('corrupted behind its back', () => {
  const server = useRedis({ appendonly: 'no' })
  let admin: Redis | undefined
  afterAll(() => admin?.disconnect())
  let made = 0
  testDamages({
    makeStore() {
      const redis = (admin ??= new Redis(server().url()))
      const prefix = freshPrefix()
      // Each client has its turn.
      const { client, end } = clientFor(CLIENTS[(made += 1) % 2] ?? 'redis', server().url())
      return {
        store: toldStore(client, { prefix }),
        damage: (damage, target) => damageRedis(redis, prefix, damage, target),
        async dispose() {
          await end()
          // A walk through all keys must not meet those of earlier tests.
          await redis.flushall('ASYNC')
        },
      }
    },
    damages: REDIS_DAMAGES,
  })
})
