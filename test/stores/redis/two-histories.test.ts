/** Two histories of one message, on Redis. */
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { testTwoHistories } from '../two-histories.ts'
import { clientFor, describeRedis, freshPrefix, testStore, useRedis } from './own-redis.ts'

describeRedis('two histories', () => {
  const server = useRedis({ appendfsync: 'no' })

  testTwoHistories(() => {
    const prefix = freshPrefix()
    const { client, end } = clientFor('redis', server().url())
    const direct = new Redis(server().url())
    const saved = new Map<string, Buffer>()
    onTestFinished(async () => {
      direct.disconnect()
      await end()
    })
    /** All but what says which processes are alive. */
    async function keys(): Promise<readonly string[]> {
      return (await direct.keys(`${prefix}:{*`)).filter((key) => !key.endsWith(':workers'))
    }
    return {
      store: testStore(client, { prefix }),
      async save() {
        for (const key of await keys()) saved.set(key, await direct.dumpBuffer(key))
      },
      async restore() {
        for (const key of await keys()) await direct.del(key)
        for (const [key, value] of saved) await direct.restore(key, 0, value)
      },
    }
  })
})
