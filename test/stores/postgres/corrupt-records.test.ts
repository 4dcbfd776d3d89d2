/** Records that were changed from outside, or written by a later version, affect no other record. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { checkRefusedNumbers, testCorruptRecords } from '../corrupt-records.ts'
import { NEWER_STATE } from '../newer-record.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('corrupt records', () => {
  function fresh() {
    const schema = freshSchema()
    const place = { connectionString: POSTGRES_URL, schema }
    return { schema, store: postgresStore({ ...place, clock: 'caller', maxConnections: 2 }) }
  }

  testCorruptRecords(() => {
    const { schema, store } = fresh()
    const set = (columns: string) => async (key: string) => {
      await rowsOf(`UPDATE "${schema}".records SET ${columns} WHERE key = '\\x${key}'`)
    }
    const newer = set(`state = '${NEWER_STATE}', version = version + 1`)
    return { store, newer, send: set(`send = '\\xff00'`), state: set(`state = 'not JSON'`) }
  })

  test('numbers that JavaScript cannot represent', { timeout: 60_000 }, async () => {
    const { schema, store } = fresh()
    const columns = {
      records: ['version', 'sent_at', 'overdue_at'],
      due: ['at', 'held_until', 'waiting'],
      payloads: ['admitted_at'],
      dead_letters: ['died_at'],
    }
    await checkRefusedNumbers(store, columns, (table, column, value) =>
      rowsOf(`UPDATE "${schema}".${table} SET ${column} = ${value}`),
    )
  })
})
