/** The engine by itself; conformance.full.test.ts tests the same store through its thread. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conformance } from '../conformance.ts'
import { engineStore } from './engine-store.ts'

conformance({
  makeStore(retention) {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-engine-'))
    return {
      store: engineStore(join(folder, 'inbox.db'), retention),
      dispose: () => rmSync(folder, { recursive: true }),
    }
  },
  capabilities: engineStore('unused.db').capabilities,
  interleavings: 50,
  // The file alone does not say which workers are alive.
  leavesOut: ['workers'],
})
