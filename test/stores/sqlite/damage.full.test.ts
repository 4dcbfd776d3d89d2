/** Corrupts each column of each table behind the store's back, at each stage of an event's life. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { damageFile, SQLITE_DAMAGES } from './damages.ts'
import { engineStore } from './engine-store.ts'

/** With FULL=1 each damage at each moment; without, each while its event waits, and at one other moment in turn. */
const FULL = process.env['FULL'] === '1'
let turn = 0

storeConformance({
  test(name, run) {
    if (!name.startsWith('damage: ')) return
    turn += 1
    if (FULL || name.endsWith(', while it waits') || turn % 6 === 0) test(name, { timeout: 120_000 }, run)
  },
  // conformance.full.test.ts runs the other tests, through the thread.
  skip() {},
  makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-damage-'))
    const path = join(folder, 'inbox.db')
    return {
      store: engineStore(path),
      damage: (name, target) => damageFile(path, name, target),
      dispose: () => rmSync(folder, { recursive: true }),
    }
  },
  damages: SQLITE_DAMAGES,
  capabilities: engineStore('unused.db').capabilities,
})
