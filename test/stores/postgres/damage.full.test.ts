/** Each column of each table spoilt behind the store's back, at each moment of an event's life. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { damageTables, POSTGRES_DAMAGES } from './damages.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

/** With FULL=1 each damage at each moment; without, each while its event waits, and of the others one in six in turn. */
const FULL = process.env['FULL'] === '1'

let turn = 0

describePostgres('damage', () =>
  storeConformance({
    test(name, run) {
      if (!name.startsWith('damage: ')) return
      turn += 1
      // Most of their time they wait for the disk.
      if (FULL || name.endsWith(', while it waits') || turn % 6 === 0) test.concurrent(name, { timeout: 120_000 }, run)
    },
    // The other tests are those of the conformance suites.
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
