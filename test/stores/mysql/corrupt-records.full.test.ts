/** Records that were changed from outside, or written by a later version, affect no other record. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { test } from 'vitest'
import { checkCorruptOverflow, checkCorruptSends, checkRefusedNumbers } from '../corrupt-records.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const TIMEOUT = { timeout: 60_000 }

describeMysql('corrupt records', () => {
  /** A store, and a function that changes columns of the record with a key. */
  function corruptible() {
    const prefix = freshPrefix()
    const set = (columns: string) => async (key: string) => {
      await rowsOf(`UPDATE \`${prefix}_records\` SET ${columns} WHERE digest = x'${key}'`)
    }
    const store = mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 2 })
    return { store, set }
  }

  test('a record of a later version', TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkNewerRecord(store, set(`state = '${NEWER_STATE}', version = version + 1`))
  })

  test('sends', TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkCorruptSends(store, set("send = x'ff00'"))
  })

  test("a record of an event that did not fit into its message's record", TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkCorruptOverflow(store, set("state = 'not JSON'"))
  })

  test('numbers that JavaScript cannot represent', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 2 })
    const columns = {
      records: ['version', 'sent_at', 'overdue_at', 'pending_since', 'due_at', 'held_until', 'waiting'],
      payloads: ['admitted_at'],
      dead_letters: ['died_at'],
    }
    await checkRefusedNumbers(store, columns, (table, column, value) =>
      rowsOf(`UPDATE \`${prefix}_${table}\` SET ${column} = ${value}`),
    )
  })
})
