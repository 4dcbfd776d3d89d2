/** The whole conformance suite on partitions. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { partitionSince } from './partitions.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

/** Of the suite. */
const START_MS = Date.UTC(2026, 0, 1)

describePostgres('conformance, in partitions', () =>
  storeConformance({
    test(name, run) {
      test(name, { timeout: 120_000 }, run)
    },
    skip(name, reason) {
      test.skip(`${name} (${reason})`)
    },
    async makeStore() {
      const schema = newSchema()
      await partitionSince(schema, START_MS, 366)
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 }),
        dispose: () => dropSchema(schema),
      }
    },
    interleavings: 20,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  }),
)
