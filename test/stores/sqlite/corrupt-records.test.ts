/** Records that were changed from outside, or written by a later version, affect no other record. */
import { DatabaseSync } from 'node:sqlite'
import { test } from 'vitest'
import { ownFile } from '../../support/own-folder.ts'
import { checkRefusedNumbers, testCorruptRecords } from '../corrupt-records.ts'
import { NEWER_STATE } from '../newer-record.ts'
import { engineStore } from './engine-store.ts'

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  try {
    db.exec(sql)
  } finally {
    db.close()
  }
}

testCorruptRecords(
  () => {
    const path = ownFile()
    const set = (columns: string) => (key: string) =>
      change(path, `UPDATE records SET ${columns} WHERE key = x'${key}'`)
    const newer = set(`state = '${NEWER_STATE}'`)
    return { store: engineStore(path), newer, send: set(`send = '0no'`), state: set(`state = 'not JSON'`) }
  },
  { isAtomic: true },
)

test('the file accepts no absurd time', async () => {
  const path = ownFile()
  await checkRefusedNumbers(engineStore(path), { records: ['overdue_at'] }, async (table, column, value) =>
    change(path, `UPDATE ${table} SET ${column} = ${value}`),
  )
})
