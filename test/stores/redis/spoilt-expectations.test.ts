/** See the function. */
import { Redis } from 'ioredis'
import { onTestFinished, test } from 'vitest'
import { checkSpoiltExpectations } from '../spoilt-expectations.ts'
import { clientFor, describeRedis, freshPrefix, toldStore, useRedis } from './own-redis.ts'

describeRedis('what is expected and spoilt', () => {
  const server = useRedis({ appendfsync: 'no' })
  test('costs only itself', { timeout: 60_000 }, async () => {
    const client = clientFor('redis', server().url())
    const direct = new Redis(server().url())
    onTestFinished(async () => {
      direct.disconnect()
      await client.end()
    })
    async function keyLike(pattern: string): Promise<string> {
      for await (const keys of direct.scanStream({ match: pattern }) as AsyncIterable<string[]>)
        for (const key of keys) return key
      throw new Error('There is no such key.')
    }
    await checkSpoiltExpectations(toldStore(client.client, { prefix: freshPrefix() }), {
      async text(messageKey) {
        await direct.set(await keyLike(`*:s:${messageKey}`), 'not JSON')
      },
    })
  })
})
