import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { conformance } from '../conformance.ts'

conformance({
  makeStore(retention) {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-store-'))
    return {
      store: sqliteStore({ path: join(folder, 'inbox.db'), ...retention }),
      dispose: () => rmSync(folder, { recursive: true }),
    }
  },
  // Each test opens its own file and thread.
  interleavings: 30,
  capabilities: sqliteStore('unused.db').capabilities,
})
