/** Each column of each table spoilt behind the store's back, at each moment of an event's life. */
import { postgresStore } from 'messaging-webhooks/postgres'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { damageTables, POSTGRES_DAMAGES } from './damages.ts'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from './schema.ts'

/** With FULL=1 each damage at each moment; without, each at its first, and at one other in turn. */
const FULL = process.env['FULL'] === '1'
const FIRST = /, while it waits$|: dead_letters.*, once dead$/
let turn = 0

describePostgres('damage', () =>
  storeConformance({
    test(name, run) {
      if (!name.startsWith('damage: ')) return
      turn += 1
      // Most of their time they wait for the disk.
      if (FULL || FIRST.test(name) || turn % 6 === 0) test.concurrent(name, { timeout: 120_000 }, run)
    },
    // The other tests are those of conformance.test.ts.
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
