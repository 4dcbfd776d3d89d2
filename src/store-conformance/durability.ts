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
  {
    name: 'after a restart: how late it was, for the clock may have been set back since',
    needs: 'told times',
    async run({ open, reopen }) {
      assert.equal(open.latestNowMs, undefined)
      await admit(open, [sample()], START_MS + 5_000)
      const { latestNowMs: admittedMs } = await reopen()
      assert.ok(admittedMs !== undefined && admittedMs > START_MS + 4_000 && admittedMs <= START_MS + 5_000)
    },
  },
  {
    name: 'after a restart: how late it was when something was claimed, and when it was settled',
    needs: 'told times',
    async run({ open, reopen }) {
      await admit(open, [sample()])
      const { claims } = await claim(open, { nowMs: START_MS + 5_000 })
      const again = await reopen()
      assert.ok((again.latestNowMs ?? 0) > START_MS + 4_000)
      await again.settle(
        claims.map((claimed) => settlementOf(claimed, { outcome: 'retry', dueMs: START_MS + 60_000, error: 'no' })),
        START_MS + 9_000,
      )
      const { latestNowMs: settledMs = 0 } = await reopen()
      assert.ok(settledMs > START_MS + 8_000 && settledMs <= START_MS + 9_000)
    },
  },
]
