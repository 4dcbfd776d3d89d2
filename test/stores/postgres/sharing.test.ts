/** Several stores on one schema: one store at a time runs a message, and the server's clock decides takeovers. */
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { claim, done, eventOf, namesOf } from './events.ts'
import { describePostgres, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }

async function stores(count: number, options: Partial<PostgresStoreOptions> = {}, onWork = (): void => {}) {
  const schema = freshSchema()
  const store = postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 4, ...options })
  const open = await Promise.all(Array.from({ length: count }, async () => store.open({ onWork })))
  onTestFinished(async () => {
    await Promise.all(open.map(async (each) => each.close()))
  })
  const [first, second = first] = open
  if (first === undefined || second === undefined) throw new Error('No store was opened.')
  return { schema, open, first, second }
}

describePostgres('sharing', () => {
  test('the first admission leases, however long the first heartbeat takes', TIMEOUT, async () => {
    const { schema, first: other } = await stores(1)
    await onServer(async (client) => {
      await client.query(`BEGIN; SELECT FROM "${schema}".workers FOR UPDATE`)
      const opening = postgresStore({ connectionString: POSTGRES_URL, schema }).open({ onWork() {} })
      onTestFinished(async () => (await opening).close())
      await expect
        .poll(
          async () =>
            (
              await rowsOf(
                `SELECT FROM pg_stat_activity WHERE query LIKE '%INTO "${schema}".workers%' AND wait_event_type = 'Lock'`,
              )
            ).length,
          POLL,
        )
        .toBeGreaterThan(0)
      await client.query('COMMIT')
      const nowMs = Date.now()
      const request = { limit: 1, nowMs, leaseUntilMs: nowMs + 60_000, exclude: new Set<string>() }
      const first = await (await opening).admitAndClaim?.([eventOf('m')], request)
      expect(first).toMatchObject({ admissions: ['new'], claims: [{ attempt: 1 }] })
      expect(await claim(other)).toEqual([])
    })
  })

  test('leases follow the server’s clock, however wrong a process’s clock is', TIMEOUT, async () => {
    const { first, second } = await stores(2)
    const hourMs = 3_600_000
    const [early, late] = [Date.now() - hourMs, Date.now() + hourMs]
    const request = { limit: 1, exclude: new Set<string>() }
    await first.admit([eventOf('m')], early)
    // A process whose clock is an hour slow takes it at once; one whose clock is an hour fast cannot take it away.
    const { claims } = await first.claim({ ...request, nowMs: early, leaseUntilMs: early + 60_000 })
    expect(namesOf(claims)).toEqual(['m'])
    const other = await second.claim({ ...request, nowMs: late, leaseUntilMs: late + 60_000 })
    expect(other.claims).toEqual([])
    // The store reports the lease end in the process's time, which may differ a little from the server's, but not by an hour.
    const aheadMs = (other.nextDueMs ?? 0) - late
    expect(aheadMs).toBeGreaterThan(0)
    expect(aheadMs).toBeLessThan(hourMs / 2)
  })

  test('a retry takes equally long by every clock', TIMEOUT, async () => {
    const { first, second } = await stores(2)
    const behindMs = Date.now() - 3_600_000
    await first.admit([eventOf('m')], Date.now())
    const [claimed] = await claim(first)
    if (claimed === undefined) throw new Error('Nothing was claimed.')
    const { id, messageKey, token } = claimed
    await first.settle([{ id, messageKey, token, outcome: 'retry', dueMs: behindMs + 40_000, error: 'no' }], behindMs)
    const nowMs = Date.now()
    const { nextDueMs = 0 } = await second.claim({ limit: 1, nowMs, leaseUntilMs: nowMs + 1, exclude: new Set() })
    expect(nextDueMs - nowMs).toBeGreaterThan(0)
    expect(nextDueMs - nowMs).toBeLessThan(3_600_000 / 2)
  })

  test('stores the same events once when two stores admit them in opposite orders at once', TIMEOUT, async () => {
    const { first, second } = await stores(2)
    for (let round = 0; round < 20; round += 1) {
      const events = Array.from({ length: 50 }, (_, index) => eventOf(`r${round} ${index}`))
      const [forth, back] = await Promise.all([
        first.admit(events, Date.now()),
        second.admit(events.toReversed(), Date.now()),
      ])
      const both = forth.map((admission, index) => [admission, back[49 - index]].toSorted().join(' '))
      expect(new Set(both)).toEqual(new Set(['duplicate new']))
    }
  })

  test('what another process writes during a search for due events stays due', TIMEOUT, async () => {
    // A busy machine takes a while to see which process waits for a lock.
    const { schema, first } = await stores(1, { lockTimeoutMs: 60_000 })
    const url = new URL(POSTGRES_URL)
    url.searchParams.set('application_name', 'held up')
    const slow = await postgresStore({ connectionString: url.href, schema, lockTimeoutMs: 60_000 }).open({
      onWork() {},
      claims: false,
    })
    onTestFinished(() => slow.close())
    await first.admit([eventOf('m', 2)], Date.now())
    // The slow process has seen the row and cannot lock it yet.
    const gate = Math.floor(Math.random() * 2 ** 31)
    await rowsOf(`
      CREATE FUNCTION "${schema}".is_let_through() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') = 'held up' THEN PERFORM pg_advisory_xact_lock_shared(${gate}); END IF;
        RETURN true;
      END $$;
      ALTER TABLE "${schema}".due RENAME TO due_rows;
      CREATE VIEW "${schema}".due AS SELECT * FROM "${schema}".due_rows WHERE "${schema}".is_let_through()`)
    const isWaiting = async (locktype: string): Promise<void> => {
      // Identified by the lock it already holds, because the server shows only part of its statement.
      const waiting = `SELECT FROM pg_locks l WHERE NOT granted AND locktype = '${locktype}' AND EXISTS
        (SELECT FROM pg_locks h WHERE h.pid = l.pid AND h.relation::regclass::text LIKE '%${schema}%')`
      await expect.poll(() => rowsOf(waiting), POLL).toHaveLength(1)
    }
    await onServer(async (client) => {
      await client.query(`SELECT pg_advisory_lock(${gate}); BEGIN; SELECT FROM "${schema}".records FOR UPDATE`)
      const admitted = first.admit([eventOf('m', 1)], Date.now())
      await isWaiting('transactionid')
      const looking = claim(slow)
      await isWaiting('advisory')
      await client.query('COMMIT')
      expect(await admitted).toEqual(['new'])
      await client.query(`SELECT pg_advisory_unlock(${gate})`)
      const found = await looking
      expect(await first.counts()).toMatchObject({ unsettled: 2 })
      await expect.poll(async () => (found.length > 0 ? found : claim(first)), POLL).toHaveLength(1)
    })
  })

  test('an admission wakes the other stores, and not the admitting one', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema, pollIntervalMs: 3_600_000 })
    let woken = 0
    const listening = await store.open({ onWork: () => void (woken += 1) })
    const admitting = await store.open({ onWork() {}, claims: false })
    onTestFinished(async () => {
      await listening.close()
      await admitting.close()
    })
    // The first notification proves that it receives.
    await expect.poll(() => woken, POLL).toBe(1)
    await listening.admit([eventOf('own')], Date.now())
    await admitting.admit([eventOf('other')], Date.now())
    await expect.poll(() => woken, POLL).toBe(2)
    expect(namesOf(await claim(listening))).toEqual(['other', 'own'])
  })

  test('leaves an application’s pool unchanged: no settings, no prepared statements, no end', TIMEOUT, async () => {
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })
    onTestFinished(() => pool.end())
    const schema = freshSchema()
    const open = await postgresStore({ pool, schema }).open({ onWork() {}, claims: false })
    await open.admit([eventOf('m')], Date.now())
    await open.settle((await claim(open)).map(done), Date.now())
    await open.close()
    const { rows } = await pool.query<Record<string, unknown>>(`
      SELECT (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
        current_setting('lock_timeout') AS lock_timeout, current_setting('statement_timeout') AS statement_timeout,
        nullif(current_setting('messaging_webhooks.locked', true), '') AS locked`)
    expect(rows).toEqual([{ prepared: 0, lock_timeout: '0', statement_timeout: '0', locked: null }])
    expect(pool.listenerCount('error')).toBe(0)
  })
})
