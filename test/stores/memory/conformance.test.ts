import { memoryStore } from 'messaging-webhooks'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'

const { capabilities } = memoryStore()

storeConformance({
  test,
  skip(name, reason) {
    test.skip(`${name} (${reason})`)
  },
  makeStore: () => ({ store: memoryStore() }),
  capabilities,
  interleavings: 300,
})
