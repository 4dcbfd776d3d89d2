/** The tables are emptied under running processes. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { testEmptied } from '../emptied.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

describePostgres('emptied', () => {
  testEmptied(() => {
    const schema = freshSchema()
    return {
      store: (options) => postgresStore({ connectionString: POSTGRES_URL, schema, ...options }),
      run: (statement) => rowsOf(statement.replace(/\{(\w+)\}/g, `"${schema}".$1`)),
      rewrite: 'VACUUM FULL {records}',
    }
  })
})
