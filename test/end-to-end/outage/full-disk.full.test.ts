/** The disk of the database is full, and then the disk of the spool too. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { fill, onSmallDisk } from '../../support/small-disk.ts'
import { handedOver, startApp } from './app.ts'
import { expectNothingLost, expectNothingTwice, ledger, sendStep, startLoad } from './load.ts'
import { ownFolder } from '../../support/own-folder.ts'

const MIB = 1024 * 1024
const POLL = { timeout: 40_000 }
const STORE_TIMEOUT_MS = 5_000
const PADDING = 'x'.repeat(100 * 1024)

onSmallDisk(
  'with the spool on another disk, answers go on, and all is handed over when there is room',
  120_000,
  async (mountDisk) => {
    const disk = mountDisk(8 * MIB)
    const folder = ownFolder()
    const log = join(folder, 'handed.log')
    const spool = join(folder, 'spool')
    const app = await startApp({ database: join(disk, 'inbox.db'), spool, log, storeTimeoutMs: STORE_TIMEOUT_MS })
    const answers = ledger()
    const load = startLoad(app.url, answers, { clients: 4 })
    await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(100)
    const makeRoom = fill(disk)
    // The log of the database goes round in its own blocks for a while.
    for (let at = 0; !(await app.ask('report')).codes?.includes('store_outage'); at += 1)
      await sendStep(app.url, answers, { messageId: `large${at}`, status: 'sent', padding: PADDING })
    const before = answers.taken.size
    await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(before + 100)
    makeRoom()
    await load.stop()
    expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const handed = handedOver(log)
    expectNothingLost(answers, handed)
    expectNothingTwice(handed)
    expect([...answers.statuses.keys()]).toEqual([204])
  },
)

onSmallDisk(
  'with the spool on the same disk, the reserve takes events, then 503 is answered, and no 204 is lost',
  120_000,
  async (mountDisk) => {
    const disk = mountDisk(64 * MIB)
    const data = join(disk, 'data')
    mkdirSync(data)
    const log = join(ownFolder(), 'handed.log')
    const app = await startApp({ database: join(data, 'inbox.db'), log, storeTimeoutMs: STORE_TIMEOUT_MS })
    const answers = ledger()
    const load = startLoad(app.url, answers, { clients: 2 })
    await expect.poll(() => answers.taken.size, POLL).toBeGreaterThan(50)
    await load.stop()
    const makeRoom = fill(disk)
    let large = 0
    while (!answers.statuses.has(503)) {
      expect(large, 'large callbacks taken on a full disk').toBeLessThan(400)
      await sendStep(app.url, answers, { messageId: `large${large}`, status: 'sent', padding: PADDING })
      large += 1
    }
    const { codes } = await app.ask('report')
    console.log(`full disk: ${large - 1} callbacks of 100 KiB answered 204 before the first 503`)
    expect(codes).toEqual(expect.arrayContaining(['store_outage', 'disk_full', 'spool_failed']))
    // The reserve has 8 MiB.
    expect(large).toBeGreaterThan(70)
    makeRoom()
    await expect
      .poll(async () => (await sendStep(app.url, answers, { messageId: 'room', status: 'sent' })).status, POLL)
      .toBe(204)
    expect(await app.ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
    const handed = handedOver(log)
    expectNothingLost(answers, handed)
    expectNothingTwice(handed)
    expect([...answers.statuses.keys()].toSorted()).toEqual([204, 503])
  },
)
