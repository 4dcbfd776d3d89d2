/** A connection keeps plans made on empty tables; they stay good when the tables are full and have no statistics. */
import { postgresStore } from 'messaging-webhooks/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, digestOf, eventOf, observer, settleAll } from './events.ts'
import { describePostgres, freshSchema, POSTGRES_URL } from './schema.ts'

const TIMEOUT = { timeout: 120_000 }
const BATCH = 16
const BACKLOG = 8_000
const REPORTED_MS = 1_100

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describePostgres('plans', () => {
  test.each([
    ['its own pool, with prepared statements', undefined],
    ['a pool of the application', new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })],
  ])(
    'a connection of %s that saw empty tables reads no more per event when they are full',
    TIMEOUT,
    async (_, given) => {
      const schema = freshSchema()
      const pool = given ?? new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })
      onTestFinished(() => pool.end())
      const place = given === undefined ? { connectionString: POSTGRES_URL, maxConnections: 1 } : { pool }
      const open = await observer(postgresStore({ ...place, schema }))
      // Without it, the planner has no table sizes and no cause to plan again.
      for (const table of ['records', 'payloads', 'due', 'dead_letters'])
        await pool.query(`ALTER TABLE "${schema}".${table} SET (autovacuum_enabled = off)`)

      /** The rows and index entries read so far. A connection reports its reads with its first statement after a second. */
      async function reads(): Promise<number> {
        if (given === undefined) await pause(REPORTED_MS)
        await open.run([{ do: 'read', key: digestOf('unknown') }])
        await pool.query('SELECT pg_stat_force_next_flush()')
        const { rows } = await pool.query<{ reads: string }>(`
        SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = '${schema}')
          + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = '${schema}') AS reads`)
        return Number(rows[0]?.reads)
      }

      let round = 0
      /** Everything that happens to an event. */
      async function runRound(): Promise<void> {
        round += 1
        const events = Array.from({ length: BATCH }, (_, index) => eventOf(`r${round} ${index}`, 1))
        const later = Array.from({ length: BATCH }, (_, index) => eventOf(`r${round} ${index}`, 2))
        expect(new Set(await admit(open, events))).toEqual(new Set(['new']))
        expect(new Set(await admit(open, events))).toEqual(new Set(['duplicate']))
        expect(new Set(await admit(open, later))).toEqual(new Set(['new']))
        const claims = await claim(open, { limit: BATCH, exclude: new Set([digestOf('no worker')]) })
        expect(claims.length).toBe(BATCH)
        expect(new Set(await settleAll(open, claims))).toEqual(new Set([true]))
      }

      async function readsOfOneRound(): Promise<number> {
        const before = await reads()
        await runRound()
        return (await reads()) - before
      }

      // A statement is prepared at its fourth use, and its plan is kept from the tenth on.
      for (let uses = 0; uses < 10; uses += 1) await runRound()
      const whenEmpty = await readsOfOneRound()
      for (let admitted = 0; admitted < BACKLOG; admitted += 500) {
        const events = Array.from({ length: 500 }, (_, index) => eventOf(`backlog ${admitted + index}`))
        await admit(open, events)
      }
      expect(await readsOfOneRound()).toBeLessThan(2 * whenEmpty + 10 * BATCH)
    },
  )

  test('a page of events reads about as much as it shows, not the table', TIMEOUT, async () => {
    const schema = freshSchema()
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 })
    onTestFinished(() => pool.end())
    const open = await observer(postgresStore({ pool, schema }))
    for (let admitted = 0; admitted < BACKLOG; admitted += 500) {
      const events = Array.from({ length: 500 }, (_, index) => eventOf(`backlog ${admitted + index}`))
      await admit(open, events)
    }
    await pool.query(`VACUUM ANALYZE "${schema}".payloads, "${schema}".due, "${schema}".records`)

    async function reads(): Promise<number> {
      await pool.query('SELECT pg_stat_force_next_flush()')
      const { rows } = await pool.query<{ reads: string }>(
        `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS reads FROM pg_stat_user_tables WHERE schemaname = '${schema}'`,
      )
      return Number(rows[0]?.reads)
    }

    let after: string | undefined
    for (let page = 0; page < 3; page += 1) {
      const before = await reads()
      const found = await open.scan({ of: 'events', after, limit: 20 })
      expect(found.items).toHaveLength(20)
      after = found.next
      expect((await reads()) - before).toBeLessThan(BACKLOG / 4)
    }
  })
})
