/** See the function. */
import { Redis } from 'ioredis'
import { onTestFinished, test } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { clientFor, describeRedis, freshPrefix, toldStore, useRedis } from './own-redis.ts'

describeRedis('a record of a later version', () => {
  const server = useRedis({ appendfsync: 'no' })
  test('keeps no other from anything', { timeout: 60_000 }, async () => {
    const client = clientFor('redis', server().url())
    const direct = new Redis(server().url())
    onTestFinished(async () => {
      direct.disconnect()
      await client.end()
    })
    const prefix = freshPrefix()
    async function replace(messageKey: string): Promise<void> {
      const { base } = createPartitions(prefix, 16, false).of(messageKey)
      await direct.set(`${base}r:${messageKey}`, `000000000001${NEWER_STATE}`)
    }
    await checkNewerRecord(toldStore(client.client, { prefix }), replace)
  })
})
