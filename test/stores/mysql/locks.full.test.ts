/** Locks that another client holds: a statement waits no longer than `lockTimeoutMs`, and no event is blamed. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { createConnection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { eventOf } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL } from './database.ts'

const TIMEOUT = { timeout: 60_000 }
/** Far longer than `lockTimeoutMs`. */
const LIMITS = { lockTimeoutMs: 1_000, queryTimeoutMs: 60_000 }

describeMysql('locks', () => {
  test.each([
    ['row', (table: string) => ['START TRANSACTION', `SELECT * FROM ${table} FOR UPDATE`]],
    ['table', (table: string) => [`LOCK TABLES ${table} WRITE`]],
  ])('of a %s', TIMEOUT, async (_, lock) => {
    const prefix = freshPrefix()
    const open = await mysqlStore({ uri: MYSQL_URL, prefix, ...LIMITS }).open({ onWork() {}, claims: false })
    onTestFinished(() => open.close())
    await open.admit([eventOf('m', 1)], Date.now())
    const other = await createConnection({ uri: MYSQL_URL })
    for (const statement of lock(`\`${prefix}_records\``)) await other.query(statement)
    const startedMs = performance.now()
    await expect(Promise.resolve(open.admit([eventOf('m', 2)], Date.now()))).rejects.toMatchObject({
      code: 'store_failed',
      cause: { message: expect.stringContaining('Lock wait timeout exceeded') as string },
    })
    expect(performance.now() - startedMs).toBeLessThan(20_000)
    await other.end()
    expect(await open.admit([eventOf('m', 2)], Date.now())).toEqual(['new'])
  })
})
