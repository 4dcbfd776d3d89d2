/** Several stores on one schema: one store at a time runs a message, and the server's clock decides takeovers. */
import { postgresStore, type PostgresStoreOptions } from 'messaging-webhooks/postgres'
import type { MessageStore } from 'messaging-webhooks/store'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { admit, admitting, claim, eventOf, namesOf, observer, opened, settleAll, settling } from './events.ts'
import { describePostgres, freshRole, freshSchema, onServer, POSTGRES_URL, rowsOf } from './schema.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }
const AN_HOUR_MS = 3_600_000

async function stores(options: Partial<PostgresStoreOptions> = {}, ...aheadMs: readonly number[]) {
  const schema = freshSchema()
  const store = postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 4, ...options })
  const clockAhead = (by: number) => opened(store, { nowMs: () => Date.now() + by })
  const [aheadOfFirstMs = 0, aheadOfSecondMs = 0] = aheadMs
  const [first, second] = [await clockAhead(aheadOfFirstMs), await clockAhead(aheadOfSecondMs)]
  return { schema, first, second }
}

describePostgres('sharing', () => {
  test('the first admission leases, however long the first heartbeat takes', TIMEOUT, async () => {
    const { schema, first: other } = await stores()
    await onServer(async (client) => {
      await client.query(`BEGIN; SELECT FROM "${schema}".workers FOR UPDATE`)
      const opening = opened(postgresStore({ connectionString: POSTGRES_URL, schema }))
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
      const answers = await (await opening).run([admitting(eventOf('m'), 60_000)])
      expect(answers).toMatchObject([{ admission: 'new', granted: { attempt: 1 } }])
      expect(await claim(other)).toEqual([])
    })
  })

  test('leases and retries follow the server’s clock, however wrong the clocks of processes are', TIMEOUT, async () => {
    const { first: slow, second: fast } = await stores({}, -AN_HOUR_MS, AN_HOUR_MS)
    const waitOf = async (open: MessageStore) => (await open.due({ of: 'events', limit: 1 })).nextInMs
    await admit(slow, [eventOf('m')])
    const [claimed] = await claim(fast, { leaseForMs: 60_000 })
    if (claimed === undefined) throw new Error('Nothing was claimed.')
    expect(await waitOf(slow)).toBeGreaterThan(0)
    expect(await waitOf(slow)).toBeLessThanOrEqual(60_000)
    await slow.run([settling(claimed, { outcome: 'retry', inMs: 40_000 })])
    expect(await waitOf(fast)).toBeGreaterThan(0)
    expect(await waitOf(fast)).toBeLessThanOrEqual(40_000)
  })

  test(
    'a claim that began before another one settled the first event of the message claims the second',
    TIMEOUT,
    async () => {
      const { schema, first: other } = await stores()
      await admit(other, [eventOf('m', 1)])
      // The second event is due some milliseconds later.
      await new Promise((resolve) => setTimeout(resolve, 20))
      await admit(other, [eventOf('m', 2)])
      // A policy is evaluated after the statement has begun, and before it locks a row. It does not bind the owner.
      const connectionString = await freshRole(schema)
      await rowsOf(`ALTER TABLE "${schema}".due ENABLE ROW LEVEL SECURITY;
      CREATE POLICY slow ON "${schema}".due USING (pg_sleep(0.5) IS NOT NULL)`)
      const slow = await opened(postgresStore({ connectionString, schema }))
      const claiming = claim(slow)
      const isClaiming = `SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%"${schema}".due%'`
      await expect.poll(async () => (await rowsOf(isClaiming)).length, POLL).toBe(1)
      expect(await settleAll(other, await claim(other))).toEqual([true])
      expect((await claiming).map(({ record }) => record.report?.status)).toEqual(['m-2'])
    },
  )

  test('stores the same events once when two stores admit them in opposite orders at once', TIMEOUT, async () => {
    const { first, second } = await stores()
    for (let round = 0; round < 20; round += 1) {
      const events = Array.from({ length: 50 }, (_, index) => eventOf(`r${round} ${index}`))
      const [forth, back] = await Promise.all([admit(first, events), admit(second, events.toReversed())])
      const both = forth.map((admission, index) => [admission, back[49 - index]].toSorted().join(' '))
      expect(new Set(both)).toEqual(new Set(['duplicate new']))
    }
  })

  test('what another process writes during a search for due events stays due', TIMEOUT, async () => {
    // A busy machine takes a while to see which process waits for a lock.
    const { schema, first } = await stores({ lockTimeoutMs: 60_000 })
    const url = new URL(POSTGRES_URL)
    url.searchParams.set('application_name', 'held up')
    const slow = await observer(postgresStore({ connectionString: url.href, schema, lockTimeoutMs: 60_000 }))
    await admit(first, [eventOf('m', 2)])
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
      const admitted = admit(first, [eventOf('m', 1)])
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
    const listening = await opened(store, { onWork: () => void (woken += 1) })
    const other = await observer(store)
    // The first notification proves that it receives.
    await expect.poll(() => woken, POLL).toBe(1)
    await admit(listening, [eventOf('own')])
    await admit(other, [eventOf('other')])
    await expect.poll(() => woken, POLL).toBe(2)
    expect(namesOf(await claim(listening))).toEqual(['other', 'own'])
  })

  test('leaves an application’s pool unchanged: no settings, no prepared statements, no end', TIMEOUT, async () => {
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })
    onTestFinished(() => pool.end())
    const schema = freshSchema()
    const open = await observer(postgresStore({ pool, schema }))
    await admit(open, [eventOf('m')])
    await settleAll(open, await claim(open))
    await open.close()
    const { rows } = await pool.query<Record<string, unknown>>(`
      SELECT (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
        current_setting('lock_timeout') AS lock_timeout, current_setting('statement_timeout') AS statement_timeout,
        nullif(current_setting('messaging_webhooks.locked', true), '') AS locked`)
    expect(rows).toEqual([{ prepared: 0, lock_timeout: '0', statement_timeout: '0', locked: null }])
    expect(pool.listenerCount('error')).toBe(0)
  })
})
