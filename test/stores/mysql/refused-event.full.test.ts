/** An event that MySQL refuses for its data. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { test } from 'vitest'
import { checkRefusedEvent, REFUSED } from '../refused-event.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const TIMEOUT = { timeout: 60_000 }

describeMysql('a refused event', () => {
  test('keeps its bytes, and the others their meaning', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix })
    await (await store.open({ onWork() {}, claims: false })).close()
    await rowsOf(`ALTER TABLE \`${prefix}_payloads\` ADD CHECK (LOCATE('${REFUSED}', event) = 0)`)
    await checkRefusedEvent(store)
  })
})
