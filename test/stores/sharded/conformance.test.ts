/** The contract, over several stores in memory, also while a shard is being added. */
import { memoryStore } from 'messaging-webhooks'
import { shardedStore } from 'messaging-webhooks/sharded'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { describe, test } from 'vitest'

const runner = {
  test(name: string, run: () => Promise<void>) {
    test(name, { timeout: 120_000 }, run)
  },
  skip(name: string, reason: string) {
    test.skip(`${name} (${reason})`)
  },
}

const ofMemory = () => shardedStore({ a: memoryStore(), b: memoryStore(), c: memoryStore() })

describe('three in memory', () => {
  storeConformance({
    ...runner,
    makeStore: () => ({ store: ofMemory() }),
    capabilities: ofMemory().capabilities,
    interleavings: 300,
  })
})

const GENERATIONS = [
  ['a', 'b', 'c'],
  ['a', 'b'],
]
const whileAdded = () =>
  shardedStore({ a: memoryStore(), b: memoryStore(), c: memoryStore() }, { generations: GENERATIONS })

describe('two in memory, and a third that is added', () => {
  storeConformance({
    ...runner,
    makeStore: () => ({ store: whileAdded() }),
    capabilities: whileAdded().capabilities,
    interleavings: 100,
  })
})
