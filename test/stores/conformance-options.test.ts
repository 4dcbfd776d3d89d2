/** `storeConformance` validates its options: an unknown capability would silently skip tests. */
import { memoryStore, OptionsError } from 'messaging-webhooks'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { expect, test } from 'vitest'

const { capabilities } = memoryStore()

function options(registered: string[] = []) {
  return {
    test: (name: string) => void registered.push(name),
    makeStore: () => ({ store: memoryStore() }),
    capabilities,
  }
}

test.each<readonly [given: object, says: string]>([
  [{ interleaving: 5 }, 'Invalid option for storeConformance: interleaving. Did you mean interleavings?'],
  [{ interleavings: 0 }, 'interleavings is 0; expected a whole number from 1'],
  [
    { capabilities: { ...capabilities, Shared: true } },
    'Invalid option for storeConformance: capabilities.Shared. Did you mean capabilities.shared?',
  ],
  [{ capabilities: { name: 'mine', durable: true } }, 'capabilities.shared is undefined; expected true or false'],
  [{ makeStore: memoryStore() }, 'makeStore is an object; expected a function'],
])('%j', (given, says) => {
  const registered: string[] = []
  const call = () => void Reflect.apply(storeConformance, undefined, [{ ...options(registered), ...given }])
  expect(call).toThrow(OptionsError)
  expect(call).toThrow(says)
  expect(registered).toEqual([])
})

test('valid options register the tests, and skip with a reason those that do not apply', () => {
  const registered: string[] = []
  const skipped: string[] = []
  storeConformance({ ...options(registered), skip: (name) => void skipped.push(name) })
  expect(registered).toContainEqual(expect.stringMatching(/^interleavings: /))
  expect(skipped).toContainEqual(expect.stringMatching(/^workers: /))
})
