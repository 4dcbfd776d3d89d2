/** A store that throws, hangs, completes calls only after it is available again, or is locked by another process, each under load. */
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { holdsAnything, onSqlite } from './on-sqlite.ts'

const POLL = { timeout: 60_000 }

test.each(['throws', 'hangs', 'is late', 'is locked'] as const)(
  'while the store %s, callbacks are answered, nothing is lost or repeated, and the spool drains under load',
  { timeout: 180_000 },
  async (fault) => {
    // Long enough that a busy machine does not make the store look unavailable, before or after the fault.
    const settings = { storeTimeoutMs: 2_000, faulty: fault !== 'is locked' }
    const { path, spool, load, moreAnswers, instance, expectAllHandled } = await onSqlite(settings)
    await moreAnswers(100)
    const other = new DatabaseSync(path)
    onTestFinished(() => other.close())
    if (fault === 'is locked') other.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
    else await instance().ask(fault)
    // Enough for a first wait, and for probes of a store that is still unavailable.
    await moreAnswers(200)
    if (fault === 'is locked') other.exec('ROLLBACK')
    else await instance().ask('none')
    await expect.poll(() => holdsAnything(spool), { ...POLL, interval: 20 }).toBe(false)
    await load.stop()
    const { codes } = await instance().ask('report')
    await expectAllHandled()
    expect([...load.record.statuses.keys()]).toEqual([204])
    expect(codes?.filter((code) => code === 'store_outage')).toHaveLength(1)
  },
)
