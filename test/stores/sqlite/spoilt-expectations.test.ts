/** See the function. */
import { DatabaseSync } from 'node:sqlite'
import { test } from 'vitest'
import { ownFile } from '../../support/each-store.ts'
import { checkSpoiltExpectations } from '../spoilt-expectations.ts'
import { engineStore } from './engine-store.ts'

test('what is expected and spoilt costs only itself', async () => {
  const path = ownFile()
  function spoil(set: string, messageKey: string): void {
    const db = new DatabaseSync(path)
    db.exec(`UPDATE messages SET ${set} WHERE key = x'${messageKey}'`)
    db.close()
  }
  await checkSpoiltExpectations(engineStore(path), {
    text: (key) => spoil(`expected = x'FF00'`, key),
    far: (key) => spoil('overdue_at = 9223372036854775807', key),
  })
})
