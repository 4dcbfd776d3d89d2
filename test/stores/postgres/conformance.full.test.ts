/** The whole conformance suite. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { conformance } from '../conformance.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

describePostgres('conformance', () => {
  conformance({
    makeStore(retention) {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, ...retention, maxConnections: 3 }),
        dispose: () => dropSchema(schema),
      }
    },
    interleavings: 20,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  })
})
