/** A store on Postgres whose tables are missing, and whose role may not make them. */
import { migratePostgres, postgresStore } from 'messaging-webhooks/postgres'
import { expect, test } from 'vitest'
import { receiving } from '../../support/receiving.ts'
import { describePostgres, freshRole, freshSchema, POSTGRES_URL, rowsOf } from '../../stores/postgres/schema.ts'
import { faultsOf, serving } from './asking.ts'

describePostgres('a store on Postgres', () => {
  test('is not migrated, and then is', async () => {
    const schema = freshSchema()
    await rowsOf(`CREATE SCHEMA "${schema}"`)
    const connectionString = await freshRole(schema)
    const { receiver } = await receiving({ store: postgresStore({ connectionString, schema }), spool: false })
    receiver.onAny(() => {})
    const url = await serving(receiver.middleware('status'))
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['store_unmigrated'])

    await migratePostgres({ connectionString: POSTGRES_URL, schema })
    const role = `"${schema}_role"`
    await rowsOf(`
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "${schema}" TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO ${role}`)
    expect(faultsOf(await receiver.doctor({ url }))).toEqual([])
  })
})
