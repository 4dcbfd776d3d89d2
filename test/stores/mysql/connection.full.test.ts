/** What the store sets on its connections, and what it does about locks, a changed clock, and an event that MySQL refuses. */
import { mysqlStore } from 'messaging-webhooks/mysql'
import { createConnection, createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, eventOf, hostOf, namesOf, observer } from '../postgres/events.ts'
import { checkRefusedEvent, REFUSED } from '../refused-event.ts'
import { CONNECTIONS, QUERY_TIMEOUT_MS, SLOW_S, testSlowStatements } from '../slow-statements.ts'
import { describeMysql, freshPrefix, MYSQL_URL, rowsOf } from './database.ts'

const TIMEOUT = { timeout: 60_000 }
const SETTINGS = [
  'tx_isolation',
  'sql_mode',
  'autocommit',
  'innodb_lock_wait_timeout',
  'lock_wait_timeout',
  'max_statement_time',
  'idle_transaction_timeout',
]

/** A pool of the application, with one connection. */
function ownPool(): Pool {
  const pool = createPool({ uri: MYSQL_URL, connectionLimit: 1 })
  onTestFinished(() => pool.end())
  return pool
}

describeMysql('connection', () => {
  test.each([
    ['plain', false, 8],
    // A handler may leave its transaction idle for as long as it runs.
    ['transactional', true, 0],
  ])('settings of a %s store; the pool stays open', async (_, transactional, idleSeconds) => {
    const pool = ownPool()
    // A mode in which values would be cut to fit.
    await pool.query("SET SESSION sql_mode = 'ANSI', autocommit = 0")
    const limits = { lockTimeoutMs: 2_000, queryTimeoutMs: 7_500 }
    const open = await mysqlStore({ pool, prefix: freshPrefix(), transactional, ...limits }).open(hostOf())
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
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

  test.each([
    ['row', (table: string) => ['START TRANSACTION', `SELECT * FROM ${table} FOR UPDATE`]],
    ['table', (table: string) => [`LOCK TABLES ${table} WRITE`]],
  ])('waits for a locked %s no longer than lockTimeoutMs, and blames no event', TIMEOUT, async (_, lock) => {
    const prefix = freshPrefix()
    // A statement may take far longer than it may wait for a lock.
    const limits = { lockTimeoutMs: 1_000, queryTimeoutMs: 60_000 }
    const open = await observer(mysqlStore({ uri: MYSQL_URL, prefix, ...limits }))
    await admit(open, [eventOf('m', 1)])
    const other = await createConnection({ uri: MYSQL_URL })
    for (const statement of lock(`\`${prefix}_records\``)) await other.query(statement)
    const startedMs = performance.now()
    await expect(admit(open, [eventOf('m', 2)])).rejects.toMatchObject({
      code: 'store_failed',
      cause: { message: expect.stringContaining('Lock wait timeout exceeded') as string },
    })
    expect(performance.now() - startedMs).toBeLessThan(20_000)
    await other.end()
    expect(await admit(open, [eventOf('m', 2)])).toEqual(['new'])
  })

  for (const [of, isPooled] of [
    ['its own pool', false],
    ['a pool of the application', true],
  ] as const)
    testSlowStatements(of, () => {
      const prefix = freshPrefix()
      const pool = isPooled ? createPool({ uri: MYSQL_URL, connectionLimit: CONNECTIONS }) : undefined
      onTestFinished(() => pool?.end())
      const place = pool === undefined ? { uri: MYSQL_URL, maxConnections: CONNECTIONS } : { pool }
      return {
        store: mysqlStore({ ...place, prefix, queryTimeoutMs: QUERY_TIMEOUT_MS }),
        async slowDown() {
          await rowsOf(
            `CREATE TRIGGER ${prefix}_slow BEFORE INSERT ON \`${prefix}_records\` FOR EACH ROW DO SLEEP(${SLOW_S})`,
          )
          return () => rowsOf(`DROP TRIGGER ${prefix}_slow`)
        },
        query: pool && (() => pool.query('SELECT 1')),
      }
    })

  test.each([
    ['ahead', 60, ['m']],
    ['back', -60, []],
  ])('a claim after the server’s clock was set %s goes by the new time', async (_, seconds, due) => {
    const pool = ownPool()
    const open = await observer(mysqlStore({ pool, prefix: freshPrefix() }))
    expect(await admit(open, [eventOf('m')])).toEqual(['new'])
    await pool.query(`SET SESSION timestamp = UNIX_TIMESTAMP() + ${seconds}`)
    expect(namesOf(await claim(open))).toEqual(due)
  })

  test('an event that the database refuses for its data does not affect its neighbours', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const store = mysqlStore({ uri: MYSQL_URL, prefix })
    await (await store.open(hostOf({ claims: false }))).close()
    await rowsOf(`ALTER TABLE \`${prefix}_payloads\` ADD CHECK (LOCATE('${REFUSED}', event) = 0)`)
    await checkRefusedEvent(store)
  })
})
