/** Records that were changed from outside, or written by a later version, affect no other record. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { checkCorruptOverflow, checkCorruptSends, checkRefusedNumbers } from '../corrupt-records.ts'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const TIMEOUT = { timeout: 60_000 }

describePostgres('corrupt records', () => {
  /** A schema, and a function that changes columns of the record with a key. */
  function corruptible() {
    const schema = freshSchema()
    const set = (columns: string) => async (key: string) => {
      await rowsOf(`UPDATE "${schema}".records SET ${columns} WHERE key = '\\x${key}'`)
    }
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 2 })
    return { store, set }
  }

  test('a record of a later version', TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkNewerRecord(store, set(`state = '${NEWER_STATE}', version = version + 1`))
  })

  test('sends', TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkCorruptSends(store, set(`send = '\\xff00'`))
  })

  test("a record of an event that did not fit into its message's record", TIMEOUT, async () => {
    const { store, set } = corruptible()
    await checkCorruptOverflow(store, set(`state = 'not JSON'`))
  })

  test('numbers that JavaScript cannot represent', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 2 })
    const columns = {
      records: ['version', 'sent_at', 'overdue_at', 'pending_since'],
      due: ['at', 'held_until', 'waiting'],
      payloads: ['admitted_at'],
      dead_letters: ['died_at'],
    }
    await checkRefusedNumbers(store, columns, (table, column, value) =>
      rowsOf(`UPDATE "${schema}".${table} SET ${column} = ${value}`),
    )
  })
})
