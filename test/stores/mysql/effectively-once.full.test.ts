/** Effectively once, in a transaction of MySQL. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { test } from 'vitest'
import { observer } from '../postgres/events.ts'
import { checkEffectivelyOnce, TIMEOUT } from '../effectively-once.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

describeMysql('effectively once', () => {
  test('workers that are killed at random write each event exactly once', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const open = await observer(mysqlStore({ uri: MYSQL_URL, prefix }))
    // No unique constraint helps.
    await rowsOf(`CREATE TABLE \`${prefix}_written\` (message VARCHAR(100) NOT NULL)`)
    const insert = `INSERT INTO \`${prefix}_written\` VALUES (?)`
    await checkEffectivelyOnce(open, { engine: 'mysql', url: MYSQL_URL, name: prefix, insert }, async () =>
      (await rowsOf(`SELECT message FROM \`${prefix}_written\``)).map(({ message }) => message),
    )
  })
})
