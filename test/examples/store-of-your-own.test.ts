/** The store in the guide passes the conformance suite. */
import { join } from 'node:path'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { ownStore } from '../../examples/store-of-your-own.ts'
import { ownFolder } from '../support/own-folder.ts'

storeConformance({
  test(name, run) {
    test(name, { timeout: 60_000 }, run)
  },
  skip(name, reason) {
    test.skip(`${name} (${reason})`)
  },
  makeStore: (retention) => ({ store: ownStore(join(ownFolder(), 'events.db'), retention) }),
  capabilities: ownStore('').capabilities,
  leavesOut: ['workers'],
})
