/** Another process holds the lock of the database file under load. `OUTAGE_SECONDS` says how long (default 3). */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { handedOver, startApp } from './app.ts'
import { expectNothingLost, expectNothingTwice, ledger, startLoad } from './load.ts'
import { ownFolder } from '../../support/own-folder.ts'

const SECONDS = Number(process.env['OUTAGE_SECONDS'] ?? '3')
const STORE_TIMEOUT_MS = 500

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test(
  `while the file is locked for ${SECONDS} s, answers go on, and nothing is lost or comes twice`,
  { timeout: 60_000 + SECONDS * 5_000 },
  async () => {
    const folder = ownFolder()
    const database = join(folder, 'inbox.db')
    const log = join(folder, 'handed.log')
    const app = await startApp({ database, log, storeTimeoutMs: STORE_TIMEOUT_MS })
    const answers = ledger()
    const load = startLoad(app.url, answers)
    await expect.poll(() => answers.taken.size, { timeout: 30_000 }).toBeGreaterThan(100)

    const other = new DatabaseSync(database)
    other.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
    const before = answers.taken.size
    await pause(SECONDS * 1_000)
    const during = answers.taken.size - before
    other.exec('ROLLBACK')
    other.close()

    await pause(500)
    await load.stop()
    const { codes, longestLoopDelayMs = Infinity } = await app.ask('report')
    expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const handed = handedOver(log)
    console.log(
      `locked for ${SECONDS} s: ${during} callbacks answered 204 meanwhile, the slowest of all after ` +
        `${Math.round(answers.slowestMs)} ms; event loop held up for ${Math.round(longestLoopDelayMs)} ms at most`,
    )
    expectNothingLost(answers, handed)
    expectNothingTwice(handed)
    expect([...answers.statuses.keys()]).toEqual([204])
    expect(codes).toContain('store_outage')
    expect(during).toBeGreaterThan(100)
    // An answer waits for the store once, then the spool answers. One that waited for the lock would take all of it.
    expect(answers.slowestMs).toBeLessThan(STORE_TIMEOUT_MS + 1_500)
    expect(longestLoopDelayMs).toBeLessThan(1_500)
  },
)
