/** Corrupts each column of each table of a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testDamages } from '../damage.ts'
import { damageFile, SQLITE_DAMAGES } from './damages.ts'
import { engineStore } from './engine-store.ts'

testDamages({
  makeStore() {
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-damage-'))
    const path = join(folder, 'inbox.db')
    return {
      store: engineStore(path),
      damage: (damage, target) => damageFile(path, damage, target),
      dispose: () => rmSync(folder, { recursive: true }),
    }
  },
  damages: SQLITE_DAMAGES,
})
