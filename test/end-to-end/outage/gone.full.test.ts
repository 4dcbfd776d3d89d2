/** The database file disappears under a running process. */
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Instance } from '../cluster/instance.ts'
import { startLoad } from '../cluster/service.ts'
import { judge } from '../cluster/verdict.ts'
import { onSqlite } from './on-sqlite.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 40_000 }
const SETTINGS = { storeTimeoutMs: 1_000 }

const reports = async (instance: Instance, wanted: string): Promise<number> =>
  (await instance.ask('report')).codes?.filter((code) => code === wanted).length ?? 0

test('moving the file away and back under load loses nothing', TIMEOUT, async () => {
  const { folder, load, moreAnswers, instance, expectAllHandled, expectOnly204 } = await onSqlite(SETTINGS)
  await moreAnswers()
  // A slow disk may have caused one already.
  const before = await reports(instance(), 'store_outage')
  renameSync(folder, `${folder}-away`)
  await expect.poll(() => reports(instance(), 'store_outage'), POLL).toBeGreaterThan(before)
  await moreAnswers()
  renameSync(`${folder}-away`, folder)
  await load.stop()
  await expectAllHandled()
  await expectOnly204()
})

test('removing the file for good loses its contents and nothing after that', TIMEOUT, async () => {
  const { folder, cluster, load, moreAnswers, instance } = await onSqlite(SETTINGS)
  await moreAnswers()
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
  await expect.poll(() => reports(instance(), 'store_replaced'), POLL).toBe(1)
  await load.stop()
  const after = startLoad(() => cluster.instances, { prefix: 'after-' })
  await expect.poll(() => after.record.answered.size, POLL).toBeGreaterThan(100)
  await after.stop()
  await cluster.replace(0)
  expect(await instance().ask('drain')).toMatchObject({ drained: true, unsettled: 0 })
  expect(judge(cluster.lives, after.record).lost).toEqual([])
})
