/** Tests of the processes that share a store: each keeps its leases while it lives. */
import assert from 'node:assert/strict'
import type { MessageStore, WorkerState } from '../inbox/store.ts'
import { admit, claim, sample, samplesOf } from './samples.ts'
import { claimOne, until, type ConformanceCase } from './suite.ts'

async function workersOf(open: MessageStore<object>): Promise<readonly WorkerState[]> {
  assert.ok(open.workers, 'the store has `workers`')
  return open.workers()
}

export const WORKERS: readonly ConformanceCase[] = [
  {
    name: 'lists the processes that have it open, each with the number of its leases, and says which leases are held',
    async run({ open, openAnother }) {
      const other = await openAnother()
      await admit(open, samplesOf(3))
      const [first] = (await claim(open, { limit: 2 })).claims
      let left = 1
      await until('the other leases the rest', async () => (left -= (await claim(other)).claims.length) === 0)
      const seen = await workersOf(open)
      assert.deepEqual(seen.map(({ isSelf, held }) => [isSelf, held]).toSorted(), [
        [false, 1],
        [true, 2],
      ])
      assert.equal(new Set(seen.map(({ id }) => id)).size, 2)
      assert.deepEqual(
        (await workersOf(other)).map(({ id, isSelf }) => [id, isSelf]).sort(),
        seen.map(({ id, isSelf }) => [id, !isSelf]).sort(),
      )
      for (const { name, silentMs } of seen)
        assert.ok(name !== '' && silentMs >= 0 && silentMs < 60_000, `${name} was silent for ${silentMs} ms`)
      assert.ok(first)
      // A lease is held only after the first heartbeat of this process.
      if (open.isHeld !== undefined) await until('its lease is held', () => open.isHeld?.(first.messageKey) === true)
    },
  },
  {
    name: 'events of a worker that leaves are due at once, with a greater token',
    async run({ open, openAnother, close }) {
      const other = await openAnother()
      await admit(open, [sample()])
      const before = await claimOne(other)
      assert.deepEqual((await claim(open)).claims, [])
      await close(other)
      const after = await claimOne(open)
      assert.deepEqual([after.id, after.attempt], [before.id, 2])
      assert.ok(after.token > before.token, 'the token is greater')
      assert.deepEqual(
        (await workersOf(open)).map(({ isSelf, held }) => [isSelf, held]),
        [[true, 1]],
      )
    },
  },
]
