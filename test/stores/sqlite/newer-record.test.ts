/** See the function. */
import { DatabaseSync } from 'node:sqlite'
import { test } from 'vitest'
import { ownFile } from '../../support/own-folder.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { engineStore } from './engine-store.ts'

test('a record of a later version keeps no other from anything', async () => {
  const path = ownFile()
  function replace(messageKey: string): void {
    const db = new DatabaseSync(path)
    db.exec(`UPDATE records SET state = '${NEWER_STATE}' WHERE key = x'${messageKey}'`)
    db.close()
  }
  await checkNewerRecord(engineStore(path), replace, { isAtomic: true })
})
