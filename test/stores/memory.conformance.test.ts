import { memoryStore } from 'messaging-webhooks'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'

const { capabilities } = memoryStore()

storeConformance({
  test: (name, run) => void test(name, run),
  skip: (name, reason) => void test.skip(`${name} (${reason})`),
  makeStore: () => ({ store: memoryStore() }),
  capabilities,
  interleavings: 1000,
})
