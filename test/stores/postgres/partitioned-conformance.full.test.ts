/** The whole conformance suite on partitions. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { partitionSince } from './partitions.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

/** Of the suite. */
const START_MS = Date.UTC(2026, 0, 1)
/** Identities go with their part, up to two parts later than their 30 days: within the 90 days that the suite goes on for. */
const PART_DAYS = 28

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
      await partitionSince(schema, START_MS, PART_DAYS)
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 }),
        dispose: () => dropSchema(schema),
      }
    },
    interleavings: 20,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  }),
)
