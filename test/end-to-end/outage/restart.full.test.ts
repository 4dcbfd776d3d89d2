/** A process ends while the store is away, and another begins before it is back. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { handedOver, startApp } from './app.ts'
import { expectNothingLost, expectNothingTwice, ledger, sendStep, startLoad } from './load.ts'
import { ownFolder } from '../../support/own-folder.ts'

const MESSAGES = Array.from({ length: 30 }, (_, index) => `m${index}`)
const POLL = { timeout: 40_000 }

test.each(['is killed', 'is closed'] as const)(
  'a process that %s while the store is away leaves all to the next, and nothing overtakes',
  { timeout: 120_000 },
  async (ending) => {
    const folder = ownFolder()
    const log = join(folder, 'handed.log')
    const options = { database: join(folder, 'inbox.db'), log, storeTimeoutMs: 2_000, busyTimeoutMs: 300 }
    const answers = ledger()
    const first = await startApp(options)
    const other = new DatabaseSync(options.database)
    other.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
    await Promise.all(MESSAGES.map((messageId) => sendStep(first.url, answers, { messageId, status: 'sent' })))
    expect((await first.ask('report')).codes).toContain('store_outage')
    if (ending === 'is closed') await first.ask('close')
    await first.kill()

    const second = await startApp(options)
    await expect.poll(async () => (await second.ask('report')).codes, POLL).toContain('store_outage')
    await Promise.all(MESSAGES.map((messageId) => sendStep(second.url, answers, { messageId, status: 'delivered' })))
    const load = startLoad(second.url, answers, { clients: 2, prefix: 'new' })
    await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(2 * MESSAGES.length + 20)
    expect(handedOver(log)).toEqual([])
    other.exec('ROLLBACK')
    other.close()
    await Promise.all(MESSAGES.map((messageId) => sendStep(second.url, answers, { messageId, status: 'read' })))
    await load.stop()
    expect(await second.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const handed = handedOver(log)
    expect([...answers.statuses.keys()]).toEqual([204])
    expectNothingLost(answers, handed)
    expectNothingTwice(handed)
  },
)
