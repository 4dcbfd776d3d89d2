/** See the function. */
import { DatabaseSync } from 'node:sqlite'
import { test } from 'vitest'
import { ownFile } from '../../support/own-folder.ts'
import { checkSpoiltOverflow } from '../spoilt-overflow.ts'
import { engineStore } from './engine-store.ts'

test('a record of an event without room is made anew as one of its message', async () => {
  const path = ownFile()
  await checkSpoiltOverflow(engineStore(path), (key) => {
    const db = new DatabaseSync(path)
    db.exec(`UPDATE records SET state = 'not JSON' WHERE key = x'${key}'`)
    db.close()
  })
})
