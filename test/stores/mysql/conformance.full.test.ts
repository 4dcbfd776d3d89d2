/** The whole conformance suite, on the tests' own clock. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { conformance } from '../conformance.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix } from './database.ts'

describeMysql('conformance', () => {
  conformance({
    makeStore() {
      const prefix = newPrefix()
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix, clock: 'caller', maxConnections: 3 }),
        dispose: () => dropTables(prefix),
      }
    },
    interleavings: 20,
    capabilities: mysqlStore({ uri: 'mysql://127.0.0.1/test' }).capabilities,
  })
})
