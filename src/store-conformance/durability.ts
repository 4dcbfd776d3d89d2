/** What a durable store knows after it was closed and opened again. */
import assert from 'node:assert/strict'
import { admit, claim, handOverAll, LEASE_MS, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

export const DURABILITY: readonly ConformanceCase[] = [
  {
    name: 'after a restart: what waits, what is known, what is latest, what is dead',
    needs: 'durable',
    async run({ open, reopen }) {
      await admit(open, [sample({ at: 1, final: true }), sample({ message: 'dead' })])
      const { claims } = await claim(open)
      await open.settle(
        claims.map((claimed) =>
          settlementOf(
            claimed,
            claimed.record.report?.status === 'dead-1' ? { outcome: 'dead', error: 'no' } : { outcome: 'done' },
          ),
        ),
        START_MS,
      )
      await admit(open, [sample({ at: 5 })])
      const again = await reopen()
      assert.deepEqual(await again.counts(), { unsettled: 1, deadLetters: 1 })
      assert.deepEqual(await admit(again, [sample({ at: 1, final: true }), sample({ at: 5 })]), [
        'duplicate',
        'duplicate',
      ])
      assert.equal((await again.latest(sample().messageKey))?.record.report?.status, 'm-5')
      assert.deepEqual(await handOverAll(again), ['m-5'])
      assert.deepEqual(await admit(again, [sample({ at: 2 })]), ['late'])
      assert.equal((await again.deadLetters({ after: undefined, limit: 5 })).items[0]?.error, 'no')
    },
  },
  {
    name: 'after a restart: a lease that nobody holds any more runs out, and tokens go on growing',
    needs: 'durable',
    async run({ open, reopen }) {
      await admit(open, [sample()])
      const [before] = (await claim(open)).claims
      assert.ok(before)
      const again = await reopen()
      const [after] = (await claim(again, { nowMs: START_MS + LEASE_MS })).claims
      assert.ok(after)
      assert.equal(after.attempt, 2)
      assert.ok(after.token > before.token)
    },
  },
]
