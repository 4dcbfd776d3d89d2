/** See the function. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { checkSpoiltExpectations } from '../spoilt-expectations.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('what is expected and spoilt', () => {
  test('costs only itself', { timeout: 60_000 }, async () => {
    const schema = freshSchema()
    async function spoil(set: string, messageKey: string): Promise<void> {
      await rowsOf(`UPDATE "${schema}".records SET ${set} WHERE key = '\\x${messageKey}'`)
    }
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 2 })
    await checkSpoiltExpectations(store, {
      text: async (key) => spoil(`send = '\\xff00'`, key),
    })
  })
})
