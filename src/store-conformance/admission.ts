/** Admission of many events at once, with and without leases. The interleavings cover duplicates, order and lateness. */
import assert from 'node:assert/strict'
import { admit, admitAndClaim, allOf, claim, dispatchAll, list, loneSample, namesOf, sample } from './samples.ts'
import { settleAll } from './steps.ts'
import type { ConformanceCase } from './suite.ts'

export const ADMISSION: readonly ConformanceCase[] = [
  {
    name: 'an event of no message has no order, is never late, and makes no latest state',
    async run({ open }) {
      const [a, b] = [loneSample('a'), loneSample('b')]
      assert.deepEqual(await admit(open, []), [])
      assert.deepEqual(await admit(open, [b, a, b]), ['new', 'new', 'duplicate'])
      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map(({ id, late }) => `${id} ${late}`).toSorted(),
        [`${a.id} false`, `${b.id} false`].toSorted(),
      )
      assert.equal(await open.latest(a.messageKey), undefined)
    },
  },
  {
    name: 'a batch of many messages, known ones among them, some leased at once: each event runs once',
    async run({ open }) {
      for (const at of [1, 2, 3]) {
        const batch = Array.from({ length: 200 }, (_, index) =>
          sample({ message: `m${index % 150}`, at: at * 1_000 + index }),
        )
        const isLeasing = at > 1 && open.admitAndClaim !== undefined
        const { admissions, claims } = isLeasing
          ? await admitAndClaim(open, batch, { limit: 20 })
          : { admissions: await admit(open, batch), claims: [] }
        assert.deepEqual(new Set(admissions), new Set(['new']))
        assert.ok(claims.length <= 20, 'at most the limit')
        await settleAll(open, claims)
        const names = [...namesOf(claims), ...(await dispatchAll(open))]
        assert.deepEqual([names.length, new Set(names).size], [200, 200])
      }
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
    },
  },
  {
    name: 'keeps more reports of one message than one record has room for, each once',
    async run({ open }) {
      const reports = Array.from({ length: 300 }, (_, index) => sample({ at: 1 + index }))
      const { messageKey } = sample()
      for (let from = 0; from < reports.length; from += 100) await admit(open, reports.slice(from, from + 100))
      assert.deepEqual(await open.counts(), { unsettled: 300, deadLetters: 0 })
      assert.deepEqual(new Set(await admit(open, reports.slice(150))), new Set(['duplicate']))
      const listed = await allOf((after) => list(open, { messageKey, after }))
      assert.equal(new Set(listed.map(({ id }) => id)).size, 300)
      const names = await dispatchAll(open)
      assert.deepEqual([names.length, new Set(names).size], [300, 300])
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual(new Set(await admit(open, reports)), new Set(['duplicate']))
      assert.equal((await open.latest(messageKey))?.record.report?.status, 'm-300')
    },
  },
]
