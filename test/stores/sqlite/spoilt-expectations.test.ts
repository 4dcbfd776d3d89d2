/** See the function. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sample } from '../../../src/store-conformance/samples.ts'
import { checkSpoiltExpectations } from '../spoilt-expectations.ts'
import { engineStore } from './engine-store.ts'
import { ownFile } from '../../support/own-folder.ts'

test('what is expected and spoilt costs only itself', async () => {
  const path = ownFile()
  function spoil(set: string, messageKey: string): void {
    const db = new DatabaseSync(path)
    db.exec(`UPDATE records SET ${set} WHERE key = x'${messageKey}'`)
    db.close()
  }
  // The file itself takes no absurd time.
  await checkSpoiltExpectations(engineStore(path), { text: (key) => spoil(`send = '0no'`, key) })
  expect(() => spoil('overdue_at = 9223372036854775807', sample({ message: 'other' }).messageKey)).toThrow('CHECK')
})
