/** Records that were changed from outside, or written by a later version, affect no other record. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { admit, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { OVERFLOWING, REPORTS, testCorruptRecords } from '../corrupt-records.ts'
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
    return { direct, base: of(OVERFLOWING).base, set, store: toldStore(client.client, { prefix }) }
  }

  testCorruptRecords(() => {
    const { store, set } = corruptible()
    const newer = set('r', `000000000001${NEWER_STATE}`)
    return { store, newer, send: set('s', 'not JSON'), state: set('r', 'not JSON') }
  })

  test('no longer lists such a record once it is gone', { timeout: 60_000 }, async () => {
    const { direct, base, store } = corruptible()
    const open = await store.open({ onWork() {} })
    await admit(open, REPORTS)
    await open.forget({ targets: [{ messageKey: sample().messageKey }], dryRun: false }, START_MS)
    expect(await direct.zcard(`${base}overflow`)).toBe(1)
    await direct.del(`${base}r:${OVERFLOWING}`)
    await open.prune(START_MS)
    expect(await direct.zcard(`${base}overflow`)).toBe(0)
    await open.close()
  })

  test('no longer lists such a record when nothing is left to rebuild it from', { timeout: 60_000 }, async () => {
    const { direct, base, store } = corruptible()
    const open = await store.open({ onWork() {} })
    await admit(open, REPORTS)
    await direct.set(`${base}r:${OVERFLOWING}`, 'not JSON')
    await direct.del(`${base}p:${OVERFLOWING}:${OVERFLOWING}`)
    expect(await open.latest(OVERFLOWING)).toBeUndefined()
    expect(await direct.zcard(`${base}overflow`)).toBe(0)
    await open.close()
  })
})
