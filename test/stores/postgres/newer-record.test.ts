/** See the function. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { checkNewerRecord, NEWER_STATE } from '../newer-record.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('a record of a later version', () => {
  test('keeps no other from anything', { timeout: 60_000 }, async () => {
    const schema = freshSchema()
    async function replace(messageKey: string): Promise<void> {
      const set = `state = '${NEWER_STATE}', version = version + 1`
      await rowsOf(`UPDATE "${schema}".records SET ${set} WHERE key = '\\x${messageKey}'`)
    }
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 2 })
    await checkNewerRecord(store, replace)
  })
})
