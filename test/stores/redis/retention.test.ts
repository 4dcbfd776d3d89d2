/** Retention on the keys of the server: nothing expires by the server's clock, and nothing is left when retention is over. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { pruneStep } from '../../../src/inbox/pruning.ts'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, claim, DEAD, keyOf, sample, samplesOf, settleAll } from '../../../src/store-conformance/samples.ts'
import { sent } from '../../../src/store-conformance/sends.ts'
import { clientFor, freshPrefix, opened, describeRedis, useRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 30_000, interval: 50 }
const BRIEF_DAYS = 1 / 86_400_000

describeRedis('what is kept, and for how long', () => {
  const server = useRedis({ appendfsync: 'no' })

  /** Every key under a prefix with its time to live in milliseconds, -1 for no expiry; found by SCAN, because KEYS blocks. */
  async function lives(prefix: string): Promise<ReadonlyMap<string, number>> {
    const redis = new Redis(server().url())
    onTestFinished(() => redis.disconnect())
    const found = new Map<string, number>()
    let cursor = '0'
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)
      for (const key of keys) found.set(key.replace(/^.*[:}]:?/, ''), await redis.pttl(key))
      cursor = next
    } while (cursor !== '0')
    return found
  }

  test('no key expires by the clock of the server, which may jump', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix })
    await admit(open, [sample({ at: 1 }), sample({ at: 2, final: true }), sample({ message: 'other' })])
    await open.run([{ do: 'expect', key: keyOf('m'), send: sent('m') }])
    await dispatchAll(open)
    expect(new Set((await lives(prefix)).values())).toEqual(new Set([-1]))
  })

  test('in the end only the layout, the mark and the list of workers are left', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const brief = { retentionDays: BRIEF_DAYS, deadLetterDays: BRIEF_DAYS, dedupeDays: BRIEF_DAYS }
    const open = await opened(clientFor('redis', server().url()), { prefix, ...brief, partitions: 4 })
    // More than a step removes from one partition.
    await admit(open, samplesOf(1_500))
    for (let claimed = await claim(open); claimed.claims.length > 0; claimed = await claim(open))
      await settleAll(open, claimed.claims)
    await admit(open, [sample({ message: 'dead' })])
    await settleAll(open, (await claim(open)).claims, DEAD)
    await open.run([{ do: 'expect', key: keyOf('ended'), send: sent('ended', { overdueInMs: undefined }) }])
    await expect
      .poll(async () => {
        await pruneStep(open)
        return [...(await lives(prefix)).keys()].toSorted()
      }, POLL)
      .toEqual(['layout', 'mark', 'workers'])
  })

  test('without retention, only the idempotency key outlives the settlement', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const open = await opened(clientFor('redis', server().url()), { prefix, retentionDays: 0 })
    await admit(open, [sample({ raw: Buffer.from('b'.repeat(5_000)) })])
    await dispatchAll(open)
    expect([...(await lives(prefix)).keys()].toSorted()).toEqual(
      [keyOf('m'), 'layout', 'mark', 'records', 'workers'].toSorted(),
    )
  })
})
