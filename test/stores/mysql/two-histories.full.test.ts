/** Two histories of one message, on MySQL. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { testTwoHistories } from '../two-histories.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

describeMysql('two histories', () =>
  testTwoHistories(() => {
    const prefix = freshPrefix()
    const each = async (...statements: readonly ((table: string, copy: string) => string)[]) => {
      for (const name of ['records', 'payloads'])
        for (const sql of statements) await rowsOf(sql(`\`${prefix}_${name}\``, `\`${prefix}_${name}_copy\``))
    }
    return {
      store: mysqlStore({ uri: MYSQL_URL, prefix }),
      save: () => each((table, copy) => `CREATE TABLE ${copy} AS SELECT * FROM ${table}`),
      restore: () =>
        each(
          (table) => `DELETE FROM ${table}`,
          (table, copy) => `INSERT INTO ${table} SELECT * FROM ${copy}`,
          (_, copy) => `DROP TABLE ${copy}`,
        ),
    }
  }),
)
