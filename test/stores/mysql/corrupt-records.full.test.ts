/** Records that were changed from outside, or written by a later version, affect no other record. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { expect, test } from 'vitest'
import { admit, claim, sample } from '../../../src/store-conformance/samples.ts'
import { DEAD, settleAll } from '../../../src/store-conformance/steps.ts'
import { checkCorruptOverflow, checkCorruptSends } from '../corrupt-records.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const PATIENT = { timeout: 60_000 }

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

  test('a record of a later version', PATIENT, async () => {
    const { store, set } = corruptible()
    await checkNewerRecord(store, set(`state = '${NEWER_STATE}', version = version + 1`))
  })

  test('sends', PATIENT, async () => {
    const { store, set } = corruptible()
    await checkCorruptSends(store, set("send = x'ff00'"))
  })

  test("a record of an event that did not fit into its message's record", PATIENT, async () => {
    const { store, set } = corruptible()
    await checkCorruptOverflow(store, set("state = 'not JSON'"))
  })

  // One such number would make the query that finds it fail, and with it every other row.
  test('a number that JavaScript cannot hold is refused by every column that is read as one', PATIENT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 2 })
    const open = await store.open({ onWork() {}, claims: false })
    await admit(open, [sample()])
    await settleAll(open, (await claim(open)).claims, DEAD)
    const columns = {
      records: ['version', 'sent_at', 'overdue_at', 'pending_since', 'due_at', 'held_until', 'waiting'],
      payloads: ['admitted_at'],
      dead_letters: ['died_at'],
    }
    for (const [table, names] of Object.entries(columns))
      for (const name of names)
        for (const value of ['9223372036854775807', '-9223372036854775808']) {
          const change = `UPDATE \`${prefix}_${table}\` SET ${name} = ${value}`
          await expect(rowsOf(change), `${table}.${name}`).rejects.toThrow(/CONSTRAINT|Out of range/)
        }
    await open.close()
  })
})
