/** A process ends while the store is unavailable, and another starts before the store is available again. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { onSqlite } from './on-sqlite.ts'

const POLL = { timeout: 40_000 }

test.each(['is killed', 'is closed'] as const)(
  'a process that %s while the store is unavailable leaves every event to the next process, in order',
  { timeout: 120_000 },
  async (ending) => {
    const { path, cluster, load, instance, moreAnswers, expectAllHandled } = await onSqlite({ storeTimeoutMs: 2_000 })
    const isUnavailable = async () => (await instance().ask('report')).codes?.includes('store_outage')
    const other = new DatabaseSync(path)
    other.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
    await expect.poll(isUnavailable, POLL).toBe(true)
    await moreAnswers(50)
    if (ending === 'is closed') await instance().ask('close')
    await cluster.replace(0)
    await expect.poll(isUnavailable, POLL).toBe(true)
    await moreAnswers(50)
    other.exec('ROLLBACK')
    other.close()
    await moreAnswers(50)
    await load.stop()
    await expectAllHandled()
  },
)
