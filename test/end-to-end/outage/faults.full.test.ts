/** A store that throws, that hangs, and one that hangs and does it all when it is back, each under load. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handedOver, startApp } from './app.ts'
import { expectNothingLost, expectNothingTwice, ledger, startLoad } from './load.ts'
import { ownFolder } from '../../support/own-folder.ts'

/** Long enough that a busy machine takes no store for one that is away, before the fault or after it. */
const STORE_TIMEOUT_MS = 2_000

test.each(['throws', 'hangs', 'is late'] as const)(
  'while the store %s, answers go on, and nothing is lost or comes twice',
  { timeout: 120_000 },
  async (fault) => {
    const folder = ownFolder()
    const log = join(folder, 'handed.log')
    const app = await startApp({
      database: join(folder, 'inbox.db'),
      log,
      storeTimeoutMs: STORE_TIMEOUT_MS,
      faulty: true,
    })
    const answers = ledger()
    const load = startLoad(app.url, answers, { clients: 4 })
    await expect.poll(() => answers.taken.size, { timeout: 30_000 }).toBeGreaterThan(100)
    await app.ask(fault)
    const before = answers.taken.size
    // Long enough for a first wait, and for looks at a store that is still away.
    await expect.poll(() => answers.taken.size, { timeout: 40_000 }).toBeGreaterThan(before + 200)
    await app.ask('none')
    await load.stop()
    expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const { codes } = await app.ask('report')
    const handed = handedOver(log)
    expectNothingLost(answers, handed)
    expectNothingTwice(handed)
    expect([...answers.statuses.keys()]).toEqual([204])
    expect(codes?.filter((code) => code === 'store_outage')).toHaveLength(1)
  },
)
