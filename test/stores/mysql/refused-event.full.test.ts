/** An event that the database refuses for its data does not affect its neighbours. */
import { inspect } from 'node:util'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }

describeMysql('a refused event', () => {
  test('keeps its bytes, and the others their meaning', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix })
    await (await store.open({ onWork() {}, claims: false })).close()
    await rowsOf(`ALTER TABLE \`${prefix}_payloads\` ADD CHECK (LOCATE('refuse me', event) = 0)`)
    const { receiver, url, errors } = await receiving({ store, spool: false })
    const seen: string[] = []
    receiver.on('message.*', (event) => void seen.push(event.messageId))
    receiver.on('unrecognized', (event) => void seen.push(event.problem))
    await receiver.start()
    const answers = await Promise.all(
      ['a', 'b', 'refuse me', 'c', 'd'].map((messageId) => post(url, callback.smsDelivery({ messageId }))),
    )
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
    await expect.poll(() => seen.toSorted(), POLL).toEqual(['a', 'b', 'c', 'd', 'store_refused'])
    expect(inspect(errors, { depth: 10, showHidden: true }) + JSON.stringify(errors)).not.toContain('refuse me')
  })
})
