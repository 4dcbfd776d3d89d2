/** The store in the guide passes the conformance suite. */
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { inMap, keyValueStore } from '../../examples/store-of-your-own.ts'

storeConformance({
  test(name, run) {
    test(name, { timeout: 60_000 }, run)
  },
  skip(name, reason) {
    test.skip(`${name} (${reason})`)
  },
  makeStore: () => ({ store: keyValueStore(inMap()) }),
  capabilities: keyValueStore(inMap()).capabilities,
  leavesOut: ['sends'],
})
