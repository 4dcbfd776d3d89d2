/** The disk of the database is full, then the disk of the spool too. */
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect } from 'vitest'
import { AUTH_KEY, type Instance } from '../cluster/instance.ts'
import { sendAll, type ServiceRecord } from '../cluster/service.ts'
import { fill, onSmallDisk } from '../../support/small-disk.ts'
import { onSqlite } from './on-sqlite.ts'

const MIB = 1024 * 1024
const SETTINGS = { storeTimeoutMs: 5_000 }
const PADDING = 'x'.repeat(100 * 1024)

/** Sends one callback of a message of its own. */
async function sendOne(instance: Instance, record: ServiceRecord, messageId: string, padding?: string): Promise<void> {
  const report = callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status: 'sent' } })
  const one = { name: `${messageId} sent`, body: JSON.stringify({ ...report, padding }) }
  await sendAll([one], { instances: () => [instance], record })
}

onSmallDisk(
  'with the spool on another disk, callbacks are answered, and all events are dispatched once the disk has space',
  120_000,
  async (mountDisk) => {
    const disk = mountDisk(8 * MIB)
    const { load, instance, moreAnswers, expectAllHandled, expectOnly204 } = await onSqlite(SETTINGS, disk)
    await moreAnswers()
    const freeSpace = fill(disk)
    // The database's log reuses its own blocks for a while.
    for (let at = 0; !(await instance().ask('report')).codes?.includes('store_outage'); at += 1)
      await sendOne(instance(), load.record, `chat-large${at}`, PADDING)
    await moreAnswers()
    freeSpace()
    await load.stop()
    await expectAllHandled()
    await expectOnly204()
  },
)

onSmallDisk(
  'with the spool on the same disk, callbacks get 503, and no event answered 204 is lost',
  120_000,
  async (mountDisk) => {
    const disk = mountDisk(64 * MIB)
    const { load, instance, moreAnswers, expectAllHandled } = await onSqlite(
      { ...SETTINGS, spool: join(disk, 'spool') },
      join(disk, 'data'),
    )
    await moreAnswers(50)
    await load.stop()
    const { statuses } = load.record
    const freeSpace = fill(disk)
    let large = 0
    for (; !statuses.has(503); large += 1) {
      expect(large, 'large callbacks accepted on a full disk').toBeLessThan(400)
      await sendOne(instance(), load.record, `chat-large${large}`, PADDING)
    }
    const { codes } = await instance().ask('report')
    expect(codes).toEqual(expect.arrayContaining(['store_outage', 'spool_failed']))
    freeSpace()
    await expect
      .poll(
        async () => {
          await sendOne(instance(), load.record, 'chat-room')
          return load.record.answered.has('chat-room sent')
        },
        { timeout: 40_000 },
      )
      .toBe(true)
    await expectAllHandled()
    expect([...statuses.keys()].toSorted()).toEqual([204, 503])
  },
)
