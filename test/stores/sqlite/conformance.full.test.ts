import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { sqliteStore } from 'messaging-webhooks/sqlite'

storeConformance({
  // A busy machine takes a while to start threads.
  test(name, run) {
    test(name, { timeout: 120_000 }, run)
  },
  skip(name, reason) {
    test.skip(`${name} (${reason})`)
  },
  makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-store-'))
    return { store: sqliteStore(join(folder, 'inbox.db')), dispose: () => rmSync(folder, { recursive: true }) }
  },
  // Each test opens its own file and thread.
  interleavings: 30,
  capabilities: sqliteStore('unused.db').capabilities,
})
