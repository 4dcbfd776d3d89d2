/** Delivery of many events at once: leases, settlements, dead letters. The interleavings cover the outcomes. */
import assert from 'node:assert/strict'
import { admit, claim, DAY_MS, dispatchAll, LEASE_MS, sample, samplesOf, settlementOf, START_MS } from './samples.ts'
import { claimNames, claimOne, DEAD, die, DONE, settleAll, until } from './steps.ts'
import type { ConformanceCase } from './suite.ts'

export const DELIVERY: readonly ConformanceCase[] = [
  {
    name: 'claims at most the limit, the earliest due message first; excluded messages hide no others, and stay due',
    async run({ open }) {
      for (const [index, message] of ['c', 'a', 'b', 'd', 'e'].entries())
        await admit(open, [sample({ message })], START_MS + index)
      const nowMs = START_MS + 10
      const exclude = new Set(['c', 'a', 'b'].map((message) => sample({ message }).messageKey))
      assert.deepEqual(await claimNames(open, { exclude, nowMs, limit: 1 }), ['d-1'])
      assert.deepEqual(await claimNames(open, { nowMs, limit: 2 }), ['c-1', 'a-1'])
      assert.deepEqual(await claimNames(open, { nowMs }), ['b-1', 'e-1'])
      const afterMs = nowMs + LEASE_MS
      assert.deepEqual((await claimNames(open, { exclude, nowMs: afterMs })).toSorted(), ['d-1', 'e-1'])
    },
  },
  {
    name: 'concurrent calls, also of another process if the store is shared: an event is new, leased and settled once',
    async run({ open, openAnother, capabilities }) {
      const other = capabilities.shared ? await openAnother() : open
      const callers = [open, other, open, other]
      const events = [1, 2].flatMap((at) =>
        Array.from({ length: 40 }, (_, index) => sample({ message: `m${index}`, at })),
      )
      const admitted = await Promise.all(callers.map(async (caller) => admit(caller, events)))
      for (const index of events.keys())
        assert.equal(admitted.filter((admissions) => admissions[index] === 'new').length, 1, 'it is new once')
      // Claims may miss events for a while: a store may hide an event from one caller while another holds it.
      const claims = (await Promise.all(callers.map(async (caller) => claim(caller)))).flatMap((each) => each.claims)
      assert.equal(new Set(claims.map(({ messageKey }) => messageKey)).size, claims.length, 'each message once')
      const settled = await Promise.all(callers.map(async (caller) => settleAll(caller, claims)))
      for (const index of claims.keys())
        assert.equal(settled.filter((held) => held[index] === true).length, 1, 'it is settled once')
      assert.equal((await dispatchAll(open, START_MS + LEASE_MS)).length, events.length - claims.length)
    },
  },
  {
    name: 'settles many at once and answers for each; a token that is not the last one changes nothing',
    async run({ open }) {
      await admit(open, samplesOf(60))
      const retry = { outcome: 'retry', dueMs: START_MS + 500, error: 'no' } as const
      const settlements = (await claim(open)).claims.map((claimed, index) =>
        settlementOf(
          index % 4 === 3 ? { ...claimed, token: claimed.token + 1_000 } : claimed,
          [DONE, DEAD, retry][index % 4] ?? DONE,
        ),
      )
      const held = settlements.map((_, index) => index % 4 !== 3)
      assert.deepEqual(await open.settle(settlements, START_MS), held)
      assert.deepEqual(await open.counts(), { unsettled: 30, deadLetters: 15 })
      assert.equal((await dispatchAll(open, START_MS + 500)).length, 15)
      assert.equal((await dispatchAll(open, START_MS + LEASE_MS)).length, 15)
    },
  },
  {
    name: 'calls onWork when an event ends while others of its message wait, if the store has `notifiesRemaining`',
    async run({ open, onWorkCalls }) {
      await admit(open, [sample({ at: 1 })])
      const first = await claimOne(open)
      await admit(open, [sample({ at: 2 })])
      const before = onWorkCalls()
      assert.deepEqual(await settleAll(open, [first]), [true])
      if (open.notifiesRemaining === true) await until('onWork is called', () => onWorkCalls() > before)
      assert.deepEqual(await claimNames(open), ['m-2'])
    },
  },
  {
    name: 'retention keeps unsettled events, dead letters and recent events',
    async run({ open }) {
      const laterMs = START_MS + 3_650 * DAY_MS
      const waiting = sample({ message: 'waiting', awaits: 1, gapUntilMs: laterMs })
      await die(open, [sample({ message: 'dead' })])
      await admit(open, [waiting, sample({ message: 'settled' })])
      await dispatchAll(open)
      await open.prune(START_MS + 60_000)
      assert.deepEqual(await admit(open, [sample({ message: 'settled' }), waiting]), ['duplicate', 'duplicate'])
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 1 })
      // Each prune is bounded, so repeat it.
      for (let steps = 0; steps < 20; steps += 1) await open.prune(laterMs)
      assert.deepEqual(await claimNames(open, { nowMs: laterMs }), ['waiting-1'])
    },
  },
]
