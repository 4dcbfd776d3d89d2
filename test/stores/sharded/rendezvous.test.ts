/** The hash: what one more shard takes, what one less leaves, and how even the shares are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messageKey } from '../../../src/inbox/identity.ts'
import { ownerAmong } from '../../../src/stores/sharded/rendezvous.ts'

const KEYS = Array.from({ length: 3_000 }, (_, index) => messageKey('My Shop', `message-${index}`))
const names = fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/), { minLength: 1, maxLength: 8 })

test('one more takes some from all and moves nothing else; one less gives only its own away', () => {
  fc.assert(
    fc.property(names, fc.constantFrom(...KEYS.slice(0, 200)), (some, key) => {
      const [added = 'added', ...before] = some
      if (before.length === 0) return
      const owner = ownerAmong(before)(key)
      expect([owner, added]).toContain(ownerAmong(some)(key))
    }),
    { numRuns: 2_000 },
  )
})

test('neither the order of the names matters nor who asks', () => {
  fc.assert(
    fc.property(names, fc.constantFrom(...KEYS.slice(0, 200)), (some, key) => {
      expect(ownerAmong(some.toReversed())(key)).toBe(ownerAmong(some)(key))
    }),
  )
})

test.each([
  [['a', 'b']],
  [['a', 'b', 'c']],
  [['db-0', 'db-1', 'db-2', 'db-3']],
  [Array.from({ length: 10 }, (_, index) => `shard${index}`)],
])('%j have equal shares', (some) => {
  const counts = new Map(some.map((name) => [name, 0]))
  const ownerOf = ownerAmong(some)
  for (const key of KEYS) counts.set(ownerOf(key), (counts.get(ownerOf(key)) ?? 0) + 1)
  const mean = KEYS.length / some.length
  // Five standard deviations of fair draws.
  for (const count of counts.values()) expect(Math.abs(count - mean)).toBeLessThan(5 * Math.sqrt(mean))
})

test('the keys of today have the owners of every version to come', () => {
  const ownerOf = ownerAmong(['a', 'b', 'c'])
  expect(KEYS.slice(0, 16).map(ownerOf).join('')).toBe('baaaacccacccbccb')
})
