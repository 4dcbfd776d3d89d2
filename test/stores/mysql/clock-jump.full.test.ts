/** A claim right after the server's clock has changed. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { createPool } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { claim, eventOf, namesOf } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL } from './database.ts'

describeMysql('clock jump', () => {
  test.each([
    ['ahead', 60, ['m']],
    ['back', -60, []],
  ])('a claim after the clock was set %s goes by the new time', async (_, seconds, due) => {
    const pool = createPool({ uri: MYSQL_URL, connectionLimit: 1 })
    onTestFinished(() => pool.end())
    const open = await mysqlStore({ pool, prefix: freshPrefix() }).open({ onWork() {}, claims: false })
    onTestFinished(() => open.close())
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
    await pool.query(`SET SESSION timestamp = UNIX_TIMESTAMP() + ${seconds}`)
    expect(namesOf(await claim(open))).toEqual(due)
  })
})
