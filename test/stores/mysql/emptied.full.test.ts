/** The tables are emptied under running processes. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { testEmptied } from '../emptied.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

describeMysql('emptied', () => {
  testEmptied(() => {
    const prefix = freshPrefix()
    return {
      store: (options) => mysqlStore({ uri: MYSQL_URL, prefix, ...options }),
      run: (statement) => rowsOf(statement.replace(/\{(\w+)\}/g, `\`${prefix}_$1\``)),
      rewrite: 'OPTIMIZE TABLE {records}',
    }
  })
})
