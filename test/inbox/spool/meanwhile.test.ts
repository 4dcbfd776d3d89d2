/** What happens to a spool while something else does: an append during a drain, a second folder that cannot be used. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSpools } from '../../../src/inbox/spool/spool.ts'
import { emptiedNames, event, events, nameOf, spooling } from './spooling.ts'
import { faultyFs } from '../../support/faulty-fs.ts'
import { ownFolder } from '../../support/own-folder.ts'

test('a drain waits for the append that is under way, and hands it over', async () => {
  let reachDisk = (): void => {}
  const gate = new Promise<void>((resolve) => (reachDisk = resolve))
  const fs = faultyFs((real, path) => ({
    async datasync() {
      if (path.endsWith('.segment')) await gate
      await real.datasync()
    },
  }))
  const { spool } = await spooling({ fs })
  const appended = spool.append(events('e', 3))
  const drained = emptiedNames(spool)
  expect(spool.size).toBe(3)
  reachDisk()
  await appended
  expect(await drained).toEqual(events('e', 3).map(nameOf))
  expect(spool.size).toBe(0)
})

test('an append of nothing writes nothing', async () => {
  const { spool } = await spooling()
  await spool.append([])
  expect({ size: spool.size, bytes: spool.bytes }).toEqual({ size: 0, bytes: 0 })
})

test('where only the folder for what is refused cannot be used, nothing stays locked, and the next try works', async () => {
  const folder = ownFolder()
  const blocked = join(folder, 'refused')
  writeFileSync(blocked, '')
  await expect(openSpools(folder, () => {})).rejects.toMatchObject({ code: 'spool_unusable' })
  rmSync(blocked)
  const { outage, aside } = await openSpools(folder, () => {})
  await outage.append([event('e')])
  await outage.close()
  await aside.close()
  const again = await openSpools(folder, () => {})
  expect(again.outage.size).toBe(1)
  await again.outage.close()
  await again.aside.close()
})
