/** Records that were changed from outside, or written by a later version, affect no other record. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { test } from 'vitest'
import { checkRefusedNumbers, testCorruptRecords } from '../corrupt-records.ts'
import { NEWER_STATE } from '../newer-record.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

describeMysql('corrupt records', () => {
  function fresh() {
    const prefix = freshPrefix()
    return { prefix, store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 2 }) }
  }

  testCorruptRecords(() => {
    const { prefix, store } = fresh()
    const set = (columns: string) => async (key: string) => {
      await rowsOf(`UPDATE \`${prefix}_records\` SET ${columns} WHERE digest = x'${key}'`)
    }
    const newer = set(`state = '${NEWER_STATE}', version = version + 1`)
    return { store, newer, send: set("send = x'ff00'"), state: set("state = 'not JSON'") }
  })

  test('numbers that JavaScript cannot represent', { timeout: 60_000 }, async () => {
    const { prefix, store } = fresh()
    const columns = {
      records: ['version', 'sent_at', 'overdue_at', 'due_at', 'held_until', 'waiting'],
      payloads: ['admitted_at'],
      dead_letters: ['died_at'],
    }
    await checkRefusedNumbers(store, columns, (table, column, value) =>
      rowsOf(`UPDATE \`${prefix}_${table}\` SET ${column} = ${value}`),
    )
  })
})
