/** Records that were changed from outside, or written by a later version, affect no other record. */
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { testCorruptRecords } from '../corrupt-records.ts'
import { NEWER_STATE } from '../newer-record.ts'
import { clientFor, describeRedis, freshPrefix, toldStore, useRedis } from './own-redis.ts'

describeRedis('corrupt records', () => {
  const server = useRedis({ appendfsync: 'no' })

  /** A store, and a function that overwrites a value: the record (`r`) or the send (`s`) of a key. */
  function corruptible() {
    const client = clientFor('redis', server().url())
    const direct = new Redis(server().url())
    onTestFinished(async () => {
      direct.disconnect()
      await client.end()
    })
    const prefix = freshPrefix()
    const { of } = createPartitions(prefix, 1)
    const set = (kind: 'r' | 's', text: string) => async (key: string) => {
      await direct.set(`${of(key).base}${kind}:${key}`, text)
    }
    return { set, store: toldStore(client.client, { prefix }) }
  }

  testCorruptRecords(() => {
    const { store, set } = corruptible()
    const newer = set('r', `000000000001${NEWER_STATE}`)
    return { store, newer, send: set('s', 'not JSON'), state: set('r', 'not JSON') }
  })
})
