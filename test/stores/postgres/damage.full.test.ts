/** Corrupts each column of each table behind the store's back, at each stage of an event's life. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { damageTables, POSTGRES_DAMAGES } from './damages.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

/** With FULL=1 each damage at each moment; without, each while its event waits, and every sixth of the others in turn. */
const FULL = process.env['FULL'] === '1'

let turn = 0

describePostgres('damage', () =>
  storeConformance({
    test(name, run) {
      if (!name.startsWith('damage: ')) return
      turn += 1
      // The tests spend most of their time waiting for the disk.
      if (FULL || name.endsWith(', while it waits') || turn % 6 === 0) test.concurrent(name, { timeout: 120_000 }, run)
    },
    // The conformance suites run the other tests.
    skip() {},
    makeStore() {
      const schema = newSchema()
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 }),
        damage: (name, target) => damageTables(schema, name, target),
        dispose: () => dropSchema(schema),
      }
    },
    damages: POSTGRES_DAMAGES,
    capabilities: postgresStore({ connectionString: POSTGRES_URL }).capabilities,
  }),
)
