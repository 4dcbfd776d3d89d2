/** See the function. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { checkSpoiltOverflow } from '../spoilt-overflow.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('a record of an event without room', () => {
  test('is made anew as one of its message', { timeout: 60_000 }, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 2 })
    await checkSpoiltOverflow(store, async (key) => {
      await rowsOf(`UPDATE "${schema}".records SET state = 'not JSON' WHERE key = '\\x${key}'`)
    })
  })
})
