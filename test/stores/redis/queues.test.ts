/** No event is stored that no index finds, and no index finds for ever what has no event. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { claim, handOverAll, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { clientFor, describeRedis, freshPrefix, opened, useRedis } from './own-redis.ts'

const PARTITIONS = 16

describeRedis('the queues and the records', () => {
  const server = useRedis({ appendfsync: 'no' })

  test.each(['due', 'more'])('an event is not taken where its place in `%s` cannot be written', async (name) => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix, partitions: PARTITIONS })
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const [first, event] = [sample({ at: 1 }), sample({ at: 2 })]
    const before = name === 'more' ? [first] : []
    await open.admit(before, START_MS)
    const key = `${createPartitions(prefix, PARTITIONS, false).of(event.messageKey).base}${name}`
    // Somebody else's value stands where the set should.
    await admin.set(key, 'somebody else')
    await expect(async () => open.admit([event], START_MS)).rejects.toThrow('WRONGTYPE')
    await admin.del(key)
    expect(await open.admit([event], START_MS)).toEqual(['new'])
    expect(await handOverAll(open)).toHaveLength(before.length + 1)
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test('a message that has nothing left to run leaves the queue in which someone put it', async () => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix, partitions: PARTITIONS })
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const event = sample()
    await open.admit([event], START_MS)
    await handOverAll(open)
    const { base } = createPartitions(prefix, PARTITIONS, false).of(event.messageKey)
    for (const queue of ['due', 'leased']) await admin.zadd(`${base}${queue}`, 0, event.messageKey)
    expect((await claim(open)).claims).toEqual([])
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await open.admit([sample({ at: 2 })], START_MS)).toEqual(['new'])
    expect(await handOverAll(open)).toHaveLength(1)
  })
})
