/** Corrupts each column of each table of a prefix. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { testDamages } from '../damage.ts'
import { damageTables, MYSQL_DAMAGES } from './damages.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix } from './database.ts'

describeMysql('damage', () =>
  testDamages({
    concurrent: true,
    makeStore() {
      const prefix = newPrefix()
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 3 }),
        damage: (damage, target) => damageTables(prefix, damage, target),
        dispose: () => dropTables(prefix),
      }
    },
    damages: MYSQL_DAMAGES,
  }),
)
