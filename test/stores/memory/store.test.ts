import { memoryStore } from 'messaging-webhooks'
import type { MemoryStoreOptions } from '../../../src/stores/memory/store.ts'
import { describe, expect, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, claim, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import { die, itemsOf, PAGE } from '../../../src/store-conformance/suite.ts'
import { hostOf } from '../../support/stores.ts'
import { checkDeepListing } from '../deep-listing.ts'

const DAY_MS = 86_400_000

async function openStore(options: MemoryStoreOptions, nowMs = Date.now) {
  return memoryStore(options).open(hostOf({ nowMs, elapsedMs: nowMs }))
}

const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((message) => sample({ message, raw: Buffer.alloc(10) }))
if (!a || !b || !c || !d || !e) throw new Error('Expected five events.')

describe('bounds', () => {
  test('a store full of unsettled events accepts only duplicates until one is settled', async () => {
    const store = await openStore({ maxEvents: 2 })
    expect(await admit(store, [a, b, c, a])).toEqual(['new', 'new', 'full', 'duplicate'])
    await settleAll(store, (await claim(store, { limit: 1 })).claims)
    expect(await admit(store, [c])).toEqual(['new'])
  })

  test('bytes count too', async () => {
    const store = await openStore({ maxBytes: 25 })
    expect(await admit(store, [a, b, c])).toEqual(['new', 'new', 'full'])
    expect(await admit(store, [{ ...d, raw: Buffer.alloc(5) }])).toEqual(['new'])
  })

  test('only settled events are erased, the oldest first', async () => {
    const store = await openStore({ maxEvents: 3 })
    for (const event of [a, b, c, d]) {
      await admit(store, [event])
      await dispatchAll(store)
    }
    // Of four settled events, the first is erased; a new one is accepted.
    expect(await admit(store, [d, c, b, a])).toEqual(['duplicate', 'duplicate', 'duplicate', 'new'])
    expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  })

  test('a settled event is known for dedupeDays and then erased', async () => {
    let nowMs = 0
    const store = await openStore({ dedupeDays: 2 }, () => nowMs)
    const expired = async (): Promise<number> => {
      const { keys } = await store.due({ of: 'retention', limit: 10 })
      const answers = await store.run(keys.map((key) => ({ do: 'expire', key }) as const))
      return answers.filter((answer) => answer !== 'kept').length
    }
    const waiting = sample({ message: 'waiting', awaits: 1, reorderWaitMs: 10 * DAY_MS })
    await admit(store, [a, waiting])
    await dispatchAll(store)
    nowMs = 2 * DAY_MS
    expect(await admit(store, [a])).toEqual(['duplicate'])
    expect(await expired()).toBe(0)
    nowMs += 2
    expect(await expired()).toBe(1)
    expect(await expired()).toBe(0)
    expect(await admit(store, [a, waiting])).toEqual(['new', 'duplicate'])
  })

  test('dead letters are bounded, and the oldest goes first', async () => {
    const store = await openStore({ maxDeadLetters: 3 })
    for (const event of [a, b, c, d, e]) await die(store, [event])
    expect(await store.counts()).toEqual({ unsettled: 0, deadLetters: 3 })
    expect((await itemsOf(store, { of: 'deadLetters', ...PAGE })).map(({ id }) => id)).toEqual([c.id, d.id, e.id])
  })
})

test('pages of events go beyond the records that settled last', async () => {
  await checkDeepListing(await openStore({ maxDeadLetters: 60 }), 3_000)
})
