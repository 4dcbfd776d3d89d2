/** The clock of the machine was wrong at a start: what is written afterwards waits and expires by the right time. */
import { join } from 'node:path'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, test } from 'vitest'
import { pruneStep } from '../../../src/inbox/pruning.ts'
import { admit, claim, DEAD, sample, settleAll } from '../../../src/store-conformance/samples.ts'
import { itemsOf, PAGE } from '../../../src/store-conformance/suite.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { hostOf } from '../../support/stores.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test('400 days ahead at one start', async () => {
  const path = join(ownFolder(), 'inbox.db')
  const store = sqliteStore({ path, retentionDays: 1, deadLetterDays: 2, dedupeDays: 3 })
  let passedMs = 0
  const open = (aheadMs: number) =>
    store.open(hostOf({ nowMs: () => Date.now() + aheadMs + passedMs, elapsedMs: () => performance.now() + passedMs }))

  const ahead = await open(400 * DAY_MS)
  await admit(ahead, [sample({ message: 'waiting' })])
  await ahead.close()

  const right = await open(0)
  const { claims } = await claim(right)
  expect(claims).toHaveLength(1)
  expect(await settleAll(right, claims)).toEqual([true])
  const [settled, dead] = [sample({ message: 'settled' }), sample({ message: 'dead' })]
  await admit(right, [settled])
  expect(await settleAll(right, (await claim(right)).claims)).toEqual([true])
  await admit(right, [dead])
  expect(await settleAll(right, (await claim(right)).claims, DEAD)).toEqual([true])
  const idsAfter = async (ms: number): Promise<readonly string[]> => {
    for (let hours = 0; hours < ms / HOUR_MS; hours += 1) {
      passedMs += HOUR_MS
      await pruneStep(right)
    }
    return (await itemsOf(right, { of: 'events', ...PAGE })).map(({ id }) => id)
  }
  expect(await idsAfter(DAY_MS / 2)).toEqual(expect.arrayContaining([settled.id, dead.id]))
  const afterOneDay = await idsAfter(DAY_MS)
  expect(afterOneDay).not.toContain(settled.id)
  expect(afterOneDay).toContain(dead.id)
  expect(await admit(right, [settled, dead])).toEqual(['duplicate', 'duplicate'])
  expect(await idsAfter(DAY_MS)).not.toContain(dead.id)
  await idsAfter(2 * DAY_MS)
  expect(await admit(right, [settled])).toEqual(['new'])
  await right.close()
})

test('400 days ahead at every other start: nothing young is deleted', async () => {
  const path = join(ownFolder(), 'inbox.db')
  const store = sqliteStore({ path, retentionDays: 1, deadLetterDays: 2, dedupeDays: 3 })
  const [settled, dead] = [sample({ message: 'settled' }), sample({ message: 'dead' })]
  const open = (aheadMs: number) => store.open(hostOf({ nowMs: () => Date.now() + aheadMs }))

  const first = await open(0)
  await admit(first, [settled])
  expect(await settleAll(first, (await claim(first)).claims)).toEqual([true])
  await admit(first, [dead])
  expect(await settleAll(first, (await claim(first)).claims, DEAD)).toEqual([true])
  await first.close()

  for (const start of [1, 2, 3]) {
    const ahead = await open(400 * DAY_MS)
    expect(await pruneStep(ahead)).toBe(0)
    await admit(ahead, [sample({ message: `waiting ${start}` })])
    await ahead.close()

    const right = await open(0)
    expect(await pruneStep(right)).toBe(0)
    const { claims } = await claim(right)
    expect(await settleAll(right, claims)).toEqual([true])
    await right.close()
  }
  const last = await open(0)
  expect(await admit(last, [settled, dead])).toEqual(['duplicate', 'duplicate'])
  expect(await last.counts()).toEqual({ unsettled: 0, deadLetters: 1 })
  const events = await itemsOf(last, { of: 'events', ...PAGE })
  expect(events.map(({ id }) => id)).toEqual(expect.arrayContaining([settled.id, dead.id]))
  await last.close()
})
