/** Corrupts each column of each table of a prefix. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { testDamages } from '../damage.ts'
import { damageTables, ofRecord, sqlDamages, type SqlDialect } from '../sql-damages.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix, rowsChanged, rowsOf } from './database.ts'

const LITERALS = { text: (text: string) => `'${text}'`, bytes: (hex: string) => `x'${hex}'` }

const dialectOf = (prefix: string): SqlDialect => ({
  ...LITERALS,
  table: (name) => `\`${prefix}_${name}\``,
  numberOf: async (key) =>
    (await rowsOf(`SELECT number FROM \`${prefix}_records\` WHERE digest = x'${key}'`))[0]?.['number'],
  change: rowsChanged,
})

describeMysql('damage', () =>
  testDamages({
    concurrent: true,
    makeStore() {
      const prefix = newPrefix()
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 3 }),
        damage: (damage, target) => damageTables(dialectOf(prefix), damage, target),
        dispose: () => dropTables(prefix),
      }
    },
    damages: [
      ...sqlDamages(LITERALS, { due: ['records', 'due_at', 'number'] }),
      ofRecord('reports', 'missing', 'NULL', true),
      { name: 'workers.list: not JSON', leaves: 'whole', sql: `UPDATE {workers} SET list = 'no'` },
    ],
  }),
)
