/** Two histories of one message, on Postgres. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { testTwoHistories } from '../two-histories.ts'
import { describePostgres, freshSchema, POSTGRES_URL, rowsOf } from './schema.ts'

const TABLES = ['records', 'due', 'payloads']

describePostgres('two histories', () =>
  testTwoHistories(() => {
    const schema = freshSchema()
    const each = async (sql: (table: string, copy: string) => string) => {
      await rowsOf(TABLES.map((name) => sql(`"${schema}".${name}`, `"${schema}".${name}_copy`)).join(';'))
    }
    return {
      store: postgresStore({ connectionString: POSTGRES_URL, schema }),
      save: () => each((table, copy) => `CREATE TABLE ${copy} AS TABLE ${table}`),
      restore: () => each((table, copy) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM ${copy}`),
    }
  }),
)
