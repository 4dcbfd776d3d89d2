/** The engine by itself; conformance.full.test.ts tests the same store through its thread. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { engineStore } from './engine-store.ts'

storeConformance({
  test,
  // Excludes what only the thread adds, and what damage.full.test.ts corrupts.
  skip() {},
  makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-engine-'))
    return { store: engineStore(join(folder, 'inbox.db')), dispose: () => rmSync(folder, { recursive: true }) }
  },
  capabilities: engineStore('unused.db').capabilities,
  interleavings: 50,
  // The file alone does not say which workers are alive.
  leavesOut: ['workers'],
})
