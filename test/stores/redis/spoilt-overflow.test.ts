/** A record of one event that found no room in that of its message: spoilt, or gone. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { admit, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { checkSpoiltOverflow, OVERFLOWING, REPORTS } from '../spoilt-overflow.ts'
import { clientFor, describeRedis, freshPrefix, toldStore, useRedis } from './own-redis.ts'

describeRedis('a record of an event without room', () => {
  const server = useRedis({ appendfsync: 'no' })

  function store() {
    const client = clientFor('redis', server().url())
    const direct = new Redis(server().url())
    onTestFinished(async () => {
      direct.disconnect()
      await client.end()
    })
    const prefix = freshPrefix()
    const { base } = createPartitions(prefix, 16, false).of(OVERFLOWING)
    return { direct, base, store: toldStore(client.client, { prefix }) }
  }

  test('is made anew as one of its message', { timeout: 60_000 }, async () => {
    const { direct, base, store: told } = store()
    await checkSpoiltOverflow(told, async (key) => {
      await direct.set(`${base}r:${key}`, 'not JSON')
    })
  })

  test('is listed no more once it is gone', { timeout: 60_000 }, async () => {
    const { direct, base, store: told } = store()
    const open = await told.open({ onWork() {} })
    await admit(open, REPORTS)
    await open.forget({ targets: [{ messageKey: sample().messageKey }], dryRun: false }, START_MS)
    expect(await direct.zcard(`${base}overflow`)).toBe(1)
    await direct.del(`${base}r:${OVERFLOWING}`)
    await open.prune(START_MS)
    expect(await direct.zcard(`${base}overflow`)).toBe(0)
    await open.close()
  })

  test('is listed no more where nothing is left to make it of', { timeout: 60_000 }, async () => {
    const { direct, base, store: told } = store()
    const open = await told.open({ onWork() {} })
    await admit(open, REPORTS)
    await direct.set(`${base}r:${OVERFLOWING}`, 'not JSON')
    await direct.del(`${base}p:${OVERFLOWING}:${OVERFLOWING}`)
    expect(await open.latest(OVERFLOWING)).toBeUndefined()
    expect(await direct.zcard(`${base}overflow`)).toBe(0)
    await open.close()
  })
})
