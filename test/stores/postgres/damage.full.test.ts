/** Corrupts each column of each table of a schema. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { testDamages } from '../damage.ts'
import { damageTables, sqlDamages, type SqlDialect } from '../sql-damages.ts'
import { describePostgres, dropSchema, newSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const LITERALS = {
  text: (text: string) => `convert_to('${text}', 'UTF8')`,
  bytes: (hex: string) => `'\\x${hex}'::bytea`,
}

const dialectOf = (schema: string): SqlDialect => ({
  ...LITERALS,
  table: (name) => `"${schema}".${name}`,
  numberOf: async (key) =>
    (await rowsOf(`SELECT number FROM "${schema}".records WHERE key = '\\x${key}'`))[0]?.['number'],
  change: (sql) => onServer(async (client) => (await client.query(sql)).rowCount ?? 0),
})

describePostgres('damage', () =>
  testDamages({
    concurrent: true,
    makeStore() {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 }),
        damage: (damage, target) => damageTables(dialectOf(schema), damage, target),
        dispose: () => dropSchema(schema),
      }
    },
    damages: sqlDamages(LITERALS, { due: ['due', 'at', 'record'] }),
  }),
)
