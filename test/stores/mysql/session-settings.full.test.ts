/** What the store sets on each connection of its pool, and that it leaves the pool open. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { createPool, type RowDataPacket } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { eventOf } from '../postgres/events.ts'
import { describeMysql, freshPrefix, MYSQL_URL } from './database.ts'

const LIMITS = { lockTimeoutMs: 2_000, queryTimeoutMs: 7_500 }
const SETTINGS = [
  'tx_isolation',
  'sql_mode',
  'autocommit',
  'innodb_lock_wait_timeout',
  'lock_wait_timeout',
  'max_statement_time',
  'idle_transaction_timeout',
]

describeMysql('session settings', () => {
  test.each([
    ['plain', false, 8],
    // A handler may leave its transaction idle for as long as it runs.
    ['transactional', true, 0],
  ])('of a %s store', async (_, transactional, idleSeconds) => {
    // A mode in which values would be cut to fit.
    const pool = createPool({ uri: MYSQL_URL, connectionLimit: 1 })
    onTestFinished(() => pool.end())
    await pool.query("SET SESSION sql_mode = 'ANSI', autocommit = 0")
    const open = await mysqlStore({ pool, prefix: freshPrefix(), transactional, ...LIMITS }).open({ onWork() {} })
    expect(await open.admit([eventOf('m')], Date.now())).toEqual(['new'])
    await open.close()
    const [[row]] = await pool.query<RowDataPacket[]>(`SELECT ${SETTINGS.map((name) => `@@${name}`).join(', ')}`)
    expect(row).toEqual({
      '@@tx_isolation': 'READ-COMMITTED',
      '@@sql_mode': 'STRICT_ALL_TABLES',
      '@@autocommit': 1,
      '@@innodb_lock_wait_timeout': 2,
      '@@lock_wait_timeout': 2,
      '@@max_statement_time': 7.5,
      '@@idle_transaction_timeout': idleSeconds,
    })
  })
})
