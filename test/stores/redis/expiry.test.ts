/** Bounded growth: settled events expire by themselves, and dead letters are pruned. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { expect, onTestFinished, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, sample } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import { clientFor, freshPrefix, opened, describeRedis, useRedis } from './own-redis.ts'

const DAY_MS = 86_400_000
const TIMEOUT = { timeout: 120_000 }
const RETENTION = { retentionDays: 1, deadLetterDays: 10, dedupeDays: 30 }

describeRedis('what is kept, and for how long', () => {
  const server = useRedis({ appendfsync: 'no' })

  function direct(): Redis {
    const redis = new Redis(server().url())
    onTestFinished(() => redis.disconnect())
    return redis
  }

  /** Every key under a prefix with its time to live in milliseconds, -1 for no expiry; found by SCAN, because KEYS blocks. */
  async function lives(redis: Redis, prefix: string): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    let cursor = '0'
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)
      for (const key of keys) found.set(key.replace(/^.*\}:/, ''), await redis.pttl(key))
      cursor = next
    } while (cursor !== '0')
    return found
  }

  const kindOf = (key: string): string => key.split(':')[0] ?? ''

  test('everything left of settled events expires by itself', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const redis = direct()
    const open = await opened(clientFor('redis', server().url()), { prefix, ...RETENTION })
    await admit(open, [sample({ at: 1 }), sample({ at: 2, final: true }), sample({ message: 'other' })])
    const before = await lives(redis, prefix)
    expect([...before.values()].filter((ms) => ms !== -1)).toEqual([])
    await dispatchAll(open)
    const after = await lives(redis, prefix)
    const forEver = [...after].filter(([, ms]) => ms === -1).map(([key]) => kindOf(key))
    // The layout, the mark, the list of workers, and ids of the newest events, of which there is a fixed number.
    expect(new Set(forEver)).toEqual(new Set(['mark', prefix, 'workers', 'recent']))
    for (const [key, ms] of after) {
      if (kindOf(key) === 'p') expect(Math.abs(ms - DAY_MS)).toBeLessThan(120_000)
      if (kindOf(key) === 'r') expect(Math.abs(ms - 30 * DAY_MS)).toBeLessThan(120_000)
    }
  })

  test('no payload outlives its message, which is needed to find and erase it', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const redis = direct()
    const store = redisStore({ client: direct(), prefix, retentionDays: 60, dedupeDays: 30 })
    const open = await store.open(hostOf({ report: () => expect.unreachable() }))
    onTestFinished(() => open.close())
    await admit(open, [sample()])
    await dispatchAll(open)
    const left = [...(await lives(redis, prefix))].filter(([key]) => ['p', 'r'].includes(kindOf(key)))
    expect(left).toHaveLength(2)
    for (const [, ms] of left) expect(Math.abs(ms - 60 * DAY_MS)).toBeLessThan(120_000)
  })

  test('a message with new activity does not expire, and its expiry starts again afterwards', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const redis = direct()
    const open = await opened(clientFor('redis', server().url()), { prefix, ...RETENTION })
    await admit(open, [sample({ at: 1 })])
    await dispatchAll(open)
    await admit(open, [sample({ at: 2 })])
    const ofMessages = async (): Promise<number[]> =>
      [...(await lives(redis, prefix))].filter(([key]) => kindOf(key) === 'r').map(([, ms]) => ms)
    expect(await ofMessages()).toEqual([-1])
    await dispatchAll(open)
    expect((await ofMessages())[0]).toBeGreaterThan(0)
  })

  test('without retention, only the idempotency key outlives the settlement', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const redis = direct()
    const open = await opened(clientFor('redis', server().url()), { prefix, ...RETENTION, retentionDays: 0 })
    const marker = 'b'.repeat(5_000)
    await admit(open, [sample({ raw: Buffer.from(marker) })])
    await dispatchAll(open)
    const left = await lives(redis, prefix)
    expect([...left.keys()].map(kindOf).toSorted()).toEqual([prefix, 'mark', 'r', 'recent', 'workers'].toSorted())
  })
})
