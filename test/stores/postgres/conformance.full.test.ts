/** The whole conformance suite, on a clock of the tests' own, and again with handlers' transactions. */
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

function conformance(interleavings: number, options: Partial<PostgresStoreOptions>): void {
  storeConformance({
    test(name, run) {
      test(name, { timeout: 120_000 }, run)
    },
    skip(name, reason) {
      test.skip(`${name} (${reason})`)
    },
    makeStore() {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', ...options }),
        dispose: () => dropSchema(schema),
      }
    },
    interleavings,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  })
}

describePostgres('conformance', () => conformance(20, { maxConnections: 3 }))
