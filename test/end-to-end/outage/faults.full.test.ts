/** A store that throws, hangs, completes calls only after it is available again, or is locked by another process, each under load. */
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { onSqlite } from './on-sqlite.ts'

test.each(['throws', 'hangs', 'is late', 'is locked'] as const)(
  'while the store %s, callbacks are answered, nothing is lost or repeated, and the spool drains under load',
  { timeout: 180_000 },
  async (fault) => {
    // Long enough that a busy machine does not make the store look unavailable, before or after the fault.
    const settings = { storeTimeoutMs: 2_000, faulty: fault !== 'is locked' }
    const { path, load, moreAnswers, untilSpoolsAreEmpty, instance, expectAllHandled, expectOnly204 } =
      await onSqlite(settings)
    await moreAnswers()
    const other = new DatabaseSync(path)
    onTestFinished(() => other.close())
    if (fault === 'is locked') other.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE')
    else await instance().ask(fault)
    // Enough for a first wait, and for probes of a store that is still unavailable.
    await moreAnswers(200)
    if (fault === 'is locked') other.exec('ROLLBACK')
    else await instance().ask('none')
    await untilSpoolsAreEmpty()
    await load.stop()
    const { codes } = await instance().ask('report')
    await expectAllHandled()
    await expectOnly204()
    expect(codes?.filter((code) => code === 'store_outage')).toHaveLength(1)
  },
)
