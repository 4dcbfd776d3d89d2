/** Every stored event is in an index, and no index keeps an entry without an event. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, claim, sample } from '../../../src/store-conformance/samples.ts'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { checkDeepListing } from '../deep-listing.ts'
import { clientFor, describeRedis, freshPrefix, opened, useRedis } from './own-redis.ts'

const PARTITIONS = 1

describeRedis('the queues and the records', () => {
  const server = useRedis({ appendfsync: 'no' })

  test.each(['due', 'more'])('refuses an event whose entry in `%s` cannot be written', async (name) => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix, partitions: PARTITIONS })
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const [first, event] = [sample({ at: 1 }), sample({ at: 2 })]
    const before = name === 'more' ? [first] : []
    await admit(open, before)
    const key = `${createPartitions(prefix, PARTITIONS).of(event.messageKey).base}${name}`
    // A foreign value stands where the set should be.
    await admin.set(key, 'another value')
    await expect(() => admit(open, [event])).rejects.toThrow('WRONGTYPE')
    await admin.del(key)
    expect(await admit(open, [event])).toEqual(['new'])
    expect(await dispatchAll(open)).toHaveLength(before.length + 1)
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })

  test('a message with nothing left to run leaves a queue that it was put into from outside', async () => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix, partitions: PARTITIONS })
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const event = sample()
    await admit(open, [event])
    await dispatchAll(open)
    const { base } = createPartitions(prefix, PARTITIONS).of(event.messageKey)
    for (const queue of ['due', 'leased']) await admin.zadd(`${base}${queue}`, 0, event.messageKey)
    expect((await claim(open)).claims).toEqual([])
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await admit(open, [sample({ at: 2 })])).toEqual(['new'])
    expect(await dispatchAll(open)).toHaveLength(1)
  })

  test('pages of events go beyond the index of the newest', { timeout: 60_000 }, async () => {
    const open = await opened(clientFor('redis', server().url()), { prefix: freshPrefix() })
    await checkDeepListing(open, 3_000)
  })
})
