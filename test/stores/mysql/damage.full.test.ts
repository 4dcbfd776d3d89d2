/** Corrupts each column of each table behind the store's back, at each stage of an event's life. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { storeConformance } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import { damageTables, MYSQL_DAMAGES } from './damages.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix } from './database.ts'

/** With FULL=1 each damage at each moment; without, each while its event waits, and every sixth of the others in turn. */
const FULL = process.env['FULL'] === '1'

let turn = 0

describeMysql('damage', () =>
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
      const prefix = newPrefix()
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 3 }),
        damage: (name, target) => damageTables(prefix, name, target),
        dispose: () => dropTables(prefix),
      }
    },
    damages: MYSQL_DAMAGES,
    capabilities: mysqlStore({ uri: 'mysql://127.0.0.1/test' }).capabilities,
  }),
)
