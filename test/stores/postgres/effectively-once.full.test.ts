/** Effectively once, in a transaction of Postgres. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { test } from 'vitest'
import { observer } from './events.ts'
import { checkEffectivelyOnce, TIMEOUT } from '../effectively-once.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('effectively once', () => {
  test('workers that are killed at random write each event exactly once', TIMEOUT, async () => {
    const schema = freshSchema()
    const open = await observer(postgresStore({ connectionString: POSTGRES_URL, schema }))
    // No unique constraint helps.
    await rowsOf(`CREATE TABLE "${schema}".handled (message text NOT NULL)`)
    const insert = `INSERT INTO "${schema}".handled (message) VALUES ($1)`
    await checkEffectivelyOnce(open, { engine: 'postgres', url: POSTGRES_URL, name: schema, insert }, async () =>
      (await rowsOf(`SELECT message FROM "${schema}".handled`)).map(({ message }) => message),
    )
  })
})
