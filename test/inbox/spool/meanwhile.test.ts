/** What happens to a spool while something else does: an append during a drain, a second folder that cannot be used. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSpools } from '../../../src/inbox/spool/spool.ts'
import { event } from './spooling.ts'
import { ownFolder } from '../../support/own-folder.ts'

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
