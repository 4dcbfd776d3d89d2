/**
 * One connection sees its tables grow from nothing to a million rows: it reads as few rows for an event as at first, without
 * statistics and with them. Prints the CPU time that the server takes for an event.
 */
import { readFileSync } from 'node:fs'
import { postgresStore } from 'messaging-webhooks/postgres'
import type { MessageStore } from 'messaging-webhooks/store'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../support/servers/postgres.ts'
import { admit, claim, eventOf, observer, settleAll } from './events.ts'
import { describePostgres } from './schema.ts'

const TIMEOUT = { timeout: 300_000 }
const BATCH = 16
const ROUNDS = 60
const ROWS = 1_000_000
const SCHEMA = 'growing'
/** A connection reports its reads with its first statement after a second. */
const REPORTED_MS = 1_100

/** Records with payloads that were settled long ago, and some that wait for a later retry. */
const FILL = `
INSERT INTO ${SCHEMA}.records (number, digest, version, state, reports)
  SELECT n, sha256(n::text::bytea), 'version', convert_to(repeat('s', 180), 'UTF8'), convert_to(repeat('r', 220), 'UTF8')
  FROM generate_series(1, ${ROWS}) AS n;
INSERT INTO ${SCHEMA}.payloads (record, id, admitted_at, event, raw)
  SELECT n, sha256((-n)::text::bytea), n, 'event', 'raw' FROM generate_series(1, ${ROWS}) AS n;
INSERT INTO ${SCHEMA}.due (record, at, held_until, waiting)
  SELECT n, 9000000000000, 0, 1 FROM generate_series(1, ${ROWS / 10}) AS n`

/** Everything that happens to an event. */
async function runRound(open: MessageStore, round: number): Promise<void> {
  const events = Array.from({ length: BATCH }, (_, index) => eventOf(`r${round} ${index}`, 1))
  const later = Array.from({ length: BATCH }, (_, index) => eventOf(`r${round} ${index}`, 2))
  expect(new Set(await admit(open, events))).toEqual(new Set(['new']))
  expect(new Set(await admit(open, events))).toEqual(new Set(['duplicate']))
  expect(new Set(await admit(open, later))).toEqual(new Set(['new']))
  for (const _ of [1, 2]) {
    const claims = await claim(open, { limit: BATCH })
    expect(claims.length).toBe(BATCH)
    expect(new Set(await settleAll(open, claims))).toEqual(new Set([true]))
  }
}

describePostgres('growth', () => {
  test.each(['own', 'application'])('a connection of the pool of the %s', TIMEOUT, async (whose) => {
    const server = await startPostgres({ settings: { shared_buffers: '512MB', max_wal_size: '4GB' } })
    onTestFinished(() => server.remove())
    const url = server.url()
    const name = 'growing'
    const pool = new pg.Pool({ connectionString: url, max: 1, application_name: name })
    const admin = new pg.Client(url)
    await admin.connect()
    onTestFinished(() => pool.end())
    onTestFinished(() => admin.end())
    const place = whose === 'own' ? { connectionString: url, maxConnections: 1 } : { pool }
    const open = await observer(postgresStore({ ...place, schema: SCHEMA }))
    let round = 0

    /** The CPU time of the connection in µs, and the rows and index entries that were read. */
    async function used() {
      await new Promise((resolve) => setTimeout(resolve, REPORTED_MS))
      await open.counts()
      const { rows } = await admin.query<{ reads: string; pid: number }>(
        `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS reads,
          (SELECT max(pid) FROM pg_stat_activity WHERE application_name = $1) AS pid`,
        [whose === 'own' ? 'messaging-webhooks' : name],
      )
      const [row] = rows
      if (row === undefined) throw new Error('The server did not answer.')
      const [cpuNs] = readFileSync(`/proc/${row.pid}/schedstat`, 'utf8').split(' ')
      return { reads: Number(row.reads), cpuUs: Number(cpuNs) / 1_000 }
    }

    async function ofOneEvent() {
      // Once, so that counting is not part of the difference.
      const before = await used()
      for (let rounds = 0; rounds < ROUNDS; rounds += 1) await runRound(open, (round += 1))
      const after = await used()
      const events = 2 * BATCH * ROUNDS
      return { reads: (after.reads - before.reads) / events, cpuUs: (after.cpuUs - before.cpuUs) / events }
    }

    await admin.query(`ALTER TABLE ${SCHEMA}.records SET (autovacuum_enabled = off);
      ALTER TABLE ${SCHEMA}.payloads SET (autovacuum_enabled = off); ALTER TABLE ${SCHEMA}.due SET (autovacuum_enabled = off)`)
    for (let rounds = 0; rounds < 10; rounds += 1) await runRound(open, (round += 1))
    const whenEmpty = await ofOneEvent()
    await admin.query(FILL)
    const counted = (await used()).reads
    await open.counts()
    const ofCounting = (await used()).reads - counted
    const grown = await ofOneEvent()
    await admin.query('ANALYZE')
    const analyzed = await ofOneEvent()
    for (const [state, { reads, cpuUs }] of Object.entries({ whenEmpty, grown, analyzed }))
      console.log(`${whose} pool, ${state}: ${reads.toFixed(1)} rows read, ${cpuUs.toFixed(0)} µs CPU for an event`)
    // Each measurement counts the waiting events once.
    const own = ofCounting / (2 * BATCH * ROUNDS)
    for (const { reads } of [grown, analyzed]) expect(reads - own).toBeLessThan(1.3 * whenEmpty.reads + 1)
  })
})
