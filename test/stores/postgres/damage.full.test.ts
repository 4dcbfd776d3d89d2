/** Corrupts each column of each table of a schema. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { testDamages } from '../damage.ts'
import { damageTables, POSTGRES_DAMAGES } from './damages.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

describePostgres('damage', () =>
  testDamages({
    concurrent: true,
    makeStore() {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 }),
        damage: (damage, target) => damageTables(schema, damage, target),
        dispose: () => dropSchema(schema),
      }
    },
    damages: POSTGRES_DAMAGES,
  }),
)
