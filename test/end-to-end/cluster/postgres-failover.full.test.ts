/**
 * Ends the primary of Postgres under load and promotes its synchronous standby: no event answered 204 is lost, and no
 * event runs twice at once or out of order. `FAILOVERS` sets the number of runs for each way (`npm run test:cluster`: five).
 */
import pg from 'pg'
import { test } from 'vitest'
import { postgresPrograms, STANDBY, startPostgres, startStandby } from '../../support/servers/postgres.ts'
import { startUnderLoad } from './under-load.ts'
import { firstBeginAfterMs } from './verdict.ts'

const FAILOVERS = Number(process.env['FAILOVERS'] ?? '1')
const POLL = { timeout: 60_000, interval: 50 }
const TIMEOUT_MS = 120_000

const missing = postgresPrograms() === undefined ? 'Postgres is not installed' : undefined
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const WAYS = [
  { way: 'stopped', signal: 'SIGINT' },
  { way: 'killed', signal: 'SIGKILL' },
] as const

for (let failover = 1; failover <= FAILOVERS; failover += 1)
  test.skipIf(missing !== undefined).concurrent.for(WAYS)(
    `the primary is $way under load and its standby promoted (${failover} of ${FAILOVERS})`,
    { timeout: TIMEOUT_MS },
    async ({ way, signal }, context) => {
      const { expect, onTestFinished } = context
      const settings = { synchronous_standby_names: STANDBY, synchronous_commit: 'on' }
      const primary = await startPostgres({ settings })
      onTestFinished(primary.remove)
      const standby = await startStandby(primary)
      onTestFinished(standby.remove)
      const isSynchronous = async (): Promise<unknown> =>
        (await ask(primary.url(), `SELECT sync_state FROM pg_stat_replication`))[0]?.['sync_state']
      await expect.poll(isSynchronous, POLL).toBe('sync')
      // The standby is listed first, so that a process has to look for the primary from the start.
      const url = primary.url().replace('@127.0.0.1:', `@127.0.0.1:${standby.port},127.0.0.1:`)
      const spec = { engine: 'postgres', url, name: 'failover' } as const

      const { cluster, load, answered, moreAnswers, untilSpoolsAreEmpty, expectAllHandled, expectOnly204 } =
        await startUnderLoad(2, [spec], { storeTimeoutMs: 5_000 }, context)
      await moreAnswers()
      const [row] = await ask(primary.url(), 'SELECT count(*)::int AS records FROM failover.records')
      expect(row?.['records']).toBeGreaterThan(0)
      const endedNs = process.hrtime.bigint()
      await primary.stop(signal)
      const answeredBefore = answered.size
      await ask(standby.url(), 'SELECT pg_promote()')
      const promotedNs = process.hrtime.bigint()
      await moreAnswers()
      await untilSpoolsAreEmpty()
      await load.stop()

      const summary = await expectAllHandled()
      const resumedMs = firstBeginAfterMs(cluster.lives, promotedNs)
      console.log(
        `postgres, primary ${way}: ${answeredBefore} events answered 204 before, promoted after ` +
          `${Math.round(Number(promotedNs - endedNs) / 1e6)} ms, dispatch resumed ${Math.round(resumedMs)} ms after that; ${summary}`,
      )
      await expectOnly204()
    },
  )
