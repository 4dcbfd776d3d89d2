/** Tests retention, with periods of parts of a second. */
import assert from 'node:assert/strict'
import type { MessageStore } from '../inbox/store.ts'
import { admit, claim, DEAD, keyOf, LONG_MS, sample, settleAll, settling } from './samples.ts'
import { claimOne, itemsOf, PAGE, recordOf, until, type ConformanceCase } from './suite.ts'
import { sent } from './sends.ts'
import { systemClock } from '../runtime/clock.ts'

const { now } = systemClock()

const BRIEF_DAYS = 1 / 86_400_000
const BRIEF = { retentionDays: BRIEF_DAYS, deadLetterDays: BRIEF_DAYS, dedupeDays: BRIEF_DAYS }
const LONG = { retentionDays: 100, deadLetterDays: 100, dedupeDays: 100 }

/** What a pass over everything that is old would do. Stores find old records by the day, so the test names them. */
async function expire(open: MessageStore<object>, names: readonly string[]): Promise<void> {
  const { keys } = await open.due({ of: 'retention', limit: 1_000 })
  const all = new Set([...keys, ...names.map(keyOf)])
  await open.run([...all].map((key) => ({ do: 'expire', key }) as const))
}

export const RETENTION: readonly ConformanceCase[] = [
  {
    name: 'removes settled events, dead letters and completed sends that are too old; keeps what is unsettled or awaited',
    retention: BRIEF,
    async run({ open }) {
      const [settled, dead, waiting] = ['settled', 'dead', 'waiting'].map((message) => sample({ message }))
      assert.ok(settled && dead && waiting)
      await admit(open, [settled, dead])
      for (const claimed of (await claim(open)).claims)
        await open.run([settling(claimed, claimed.id === dead.id ? DEAD : { outcome: 'done' })])
      await admit(open, [{ ...waiting, awaits: 1, reorderWaitMs: LONG_MS }])
      await open.run([
        { do: 'expect', key: keyOf('open'), send: sent('open', { overdueInMs: LONG_MS }) },
        { do: 'expect', key: keyOf('ended'), send: sent('ended', { overdueInMs: undefined }) },
      ])
      const old = ['settled', 'dead', 'ended']
      await until('everything else expires', async () => {
        await expire(open, [...old, 'waiting', 'open'])
        const records = await Promise.all(old.map(async (name) => recordOf(open, keyOf(name))))
        return records.every((record) => record === undefined)
      })
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      assert.deepEqual(await admit(open, [waiting, settled]), ['duplicate', 'new'])
      const sends = await itemsOf(open, { of: 'sends', ...PAGE, fromMs: 0, toMs: now() + LONG_MS })
      assert.deepEqual(
        sends.map(({ messageKey }) => messageKey),
        [keyOf('open')],
      )
    },
  },
  {
    name: 'keeps what is not too old',
    retention: LONG,
    async run({ open }) {
      await admit(open, [sample()])
      await settleAll(open, [await claimOne(open)], DEAD)
      await admit(open, [sample({ at: 2 })])
      await settleAll(open, [await claimOne(open)])
      for (let times = 0; times < 3; times += 1) await expire(open, ['m'])
      assert.deepEqual(await admit(open, [sample(), sample({ at: 2 })]), ['duplicate', 'duplicate'])
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 1 })
    },
  },
]
