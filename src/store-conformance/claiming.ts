/** Claiming: a message's first due event, to one holder at a time, until its lease runs out. */
import assert from 'node:assert/strict'
import { admit, claim, LEASE_MS, namesOf, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

export const CLAIMING: readonly ConformanceCase[] = [
  {
    name: 'gives back what was admitted, to the byte',
    async run({ open }) {
      const event = sample({ raw: Buffer.from(Array.from({ length: 256 }, (_, index) => index)) })
      await admit(open, [event])
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      assert.ok(Buffer.isBuffer(claimed.raw), 'the bytes come back as a Buffer')
      assert.deepEqual(claimed.raw, event.raw)
      assert.deepEqual(claimed.record, event.record)
      const { id, messageKey, attempt, late, replay } = claimed
      assert.deepEqual(
        { id, messageKey, attempt, late, replay },
        { id: event.id, messageKey: event.messageKey, attempt: 1, late: false, replay: false },
      )
    },
  },
  {
    name: 'one event of a message at a time, whoever asks',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ at: 2 })])
      const first = await claim(open)
      assert.deepEqual(namesOf(first.claims), ['m-1'])
      assert.deepEqual((await claim(open)).claims, [])
      await open.settle(
        first.claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
        START_MS,
      )
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-2'])
    },
  },
  {
    name: 'at most the limit, and in the end each message once',
    async run({ open }) {
      for (const [index, message] of ['a', 'b', 'c'].entries())
        await admit(open, [sample({ message })], START_MS + index)
      const nowMs = START_MS + 10
      const { claims: two } = await claim(open, { limit: 2, nowMs })
      const { claims: one } = await claim(open, { limit: 2, nowMs })
      assert.deepEqual([two.length, one.length], [2, 1])
      assert.deepEqual(namesOf([...two, ...one]).toSorted(), ['a-1', 'b-1', 'c-1'])
    },
  },
  {
    name: 'at most the limit, the longest due message first',
    async run({ open }) {
      for (const [index, message] of ['a', 'b', 'c'].entries())
        await admit(open, [sample({ message })], START_MS + index)
      const nowMs = START_MS + 10
      assert.deepEqual(namesOf((await claim(open, { limit: 2, nowMs })).claims), ['a-1', 'b-1'])
      assert.deepEqual(namesOf((await claim(open, { limit: 2, nowMs })).claims), ['c-1'])
    },
  },
  {
    name: 'passes over the messages that are excluded, without losing them',
    async run({ open }) {
      const excluded = sample({ message: 'a' })
      await admit(open, [excluded, sample({ message: 'b' })])
      assert.deepEqual(namesOf((await claim(open, { exclude: new Set([excluded.messageKey]) })).claims), ['b-1'])
      assert.deepEqual(namesOf((await claim(open)).claims), ['a-1'])
    },
  },
  {
    name: 'a lease that runs out gives the event to the next who asks, and takes the right to settle',
    async run({ open }) {
      await admit(open, [sample()])
      const [first] = (await claim(open)).claims
      assert.ok(first)
      const beforeMs = START_MS + LEASE_MS - 1
      assert.deepEqual((await claim(open, { nowMs: beforeMs })).claims, [])
      const afterMs = START_MS + LEASE_MS
      const [second] = (await claim(open, { nowMs: afterMs })).claims
      assert.ok(second)
      assert.equal(second.attempt, 2)
      assert.ok(second.token > first.token, 'a fencing token grows with every claim')
      assert.deepEqual(await open.settle([settlementOf(first, { outcome: 'done' })], afterMs), [false])
      assert.deepEqual(await open.settle([settlementOf(second, { outcome: 'done' })], afterMs), [true])
    },
  },
  {
    name: 'a lease that ran out does no harm where nobody else took the event',
    async run({ open }) {
      await admit(open, [sample()])
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const afterMs = START_MS + 2 * LEASE_MS
      assert.deepEqual(await open.settle([settlementOf(claimed, { outcome: 'done' })], afterMs), [true])
      assert.deepEqual((await claim(open, { nowMs: afterMs })).claims, [])
    },
  },
  {
    name: 'says when the next event is due: a gap, a retry, or the end of a lease',
    async run({ open }) {
      assert.equal((await claim(open)).nextDueMs, undefined)
      await admit(open, [sample({ message: 'a', awaits: 1, gapUntilMs: START_MS + 700 })])
      assert.equal((await claim(open)).nextDueMs, START_MS + 700)
      await admit(open, [sample({ message: 'b' })])
      const { claims, nextDueMs } = await claim(open)
      assert.equal(nextDueMs, START_MS + 700)
      await open.settle(
        claims.map((claimed) => settlementOf(claimed, { outcome: 'retry', dueMs: START_MS + 300, error: 'no' })),
        START_MS,
      )
      assert.equal((await claim(open)).nextDueMs, START_MS + 300)
      await admit(open, [sample({ message: 'c' })])
      await claim(open, { nowMs: START_MS + 700 })
      const nextMs = (await claim(open, { nowMs: START_MS + 701 })).nextDueMs
      assert.ok(nextMs !== undefined && nextMs > START_MS + 701, 'something leased is due when its lease ends')
    },
  },
]
