/** Records that were changed from outside, or written by a later version, affect no other record. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sample } from '../../../src/store-conformance/samples.ts'
import { ownFile } from '../../support/own-folder.ts'
import { checkCorruptOverflow, checkCorruptSends } from '../corrupt-records.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { engineStore } from './engine-store.ts'

/** The file, and a function that changes a column of the record with a key. */
function corruptible() {
  const path = ownFile()
  const set = (column: string, value: string) => (key: string) => {
    const db = new DatabaseSync(path)
    try {
      db.exec(`UPDATE records SET ${column} = ${value} WHERE key = x'${key}'`)
    } finally {
      db.close()
    }
  }
  return { store: engineStore(path), set }
}

test('a record of a later version', async () => {
  const { store, set } = corruptible()
  await checkNewerRecord(store, set('state', `'${NEWER_STATE}'`), { isAtomic: true })
})

test('sends', async () => {
  const { store, set } = corruptible()
  await checkCorruptSends(store, set('send', `'0no'`))
  // The file itself accepts no absurd time.
  expect(() => set('overdue_at', '9223372036854775807')(sample({ message: 'other' }).messageKey)).toThrow('CHECK')
})

test("a record of an event that did not fit into its message's record", async () => {
  const { store, set } = corruptible()
  await checkCorruptOverflow(store, set('state', `'not JSON'`))
})
