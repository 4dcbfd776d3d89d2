/** The whole conformance suite. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { conformance } from '../conformance.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix } from './database.ts'

describeMysql('conformance', () => {
  conformance({
    makeStore(retention) {
      const prefix = newPrefix()
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix, ...retention, maxConnections: 3 }),
        dispose: () => dropTables(prefix),
      }
    },
    interleavings: 20,
    capabilities: mysqlStore({ uri: 'mysql://127.0.0.1/test' }).capabilities,
  })
})
