/** Who has the store open, and what becomes of what one holds that leaves. */
import assert from 'node:assert/strict'
import { systemClock } from '../clock.ts'
import type { OpenStore, StoreHolder } from '../inbox/store.ts'
import { admit, claim, LEASE_MS, sample, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

async function holdersOf(open: OpenStore<object>): Promise<readonly StoreHolder[]> {
  assert.ok(open.holders, 'the store has `holders`')
  return open.holders()
}

function heldBy(holders: readonly StoreHolder[]): readonly (readonly [isSelf: boolean, held: number])[] {
  return holders.map(({ isSelf, held }) => [isSelf, held] as const)
}

/** What is leased counts once a store knows for sure that it lives. */
async function untilHeld(open: OpenStore<object>, messageKey: string): Promise<void> {
  for (let tries = 0; open.isHeld?.(messageKey) !== true && tries < 500; tries += 1)
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, 10, true))
}

export const HOLDERS: readonly ConformanceCase[] = [
  {
    name: 'lists who has it open, each with what is leased to it',
    needs: 'holders',
    async run({ open, openAnother }) {
      const { other } = await openAnother()
      const events = ['a', 'b', 'c'].map((message) => sample({ message }))
      await admit(open, events)
      await claim(open, { limit: 2 })
      await claim(other, { limit: 2 })
      const seen = await holdersOf(open)
      assert.deepEqual(heldBy(seen).toSorted(), [
        [false, 1],
        [true, 2],
      ])
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
      assert.deepEqual(
        (await holdersOf(other)).map(({ id, isSelf }) => [id, isSelf]).sort(),
        seen.map(({ id, isSelf }) => [id, !isSelf]).sort(),
      )
      for (const { name, silentMs } of seen) {
        assert.ok(name !== '')
        assert.ok(silentMs >= 0 && silentMs < 60_000, `one was silent for ${silentMs} ms`)
      }
    },
  },
  {
    name: 'says of what it leased that it is held',
    needs: 'holders',
    async run({ open }) {
      const event = sample()
      await admit(open, [event])
      await claim(open)
      await untilHeld(open, event.messageKey)
      // One that has no doubts of its own need not say so.
      assert.ok(open.isHeld === undefined || open.isHeld(event.messageKey) === true)
    },
  },
  {
    name: 'one that leaves holds nothing any more: it is due at once, the attempt counted, under a greater token',
    needs: 'holders',
    async run({ open, openAnother }) {
      const { other, leave } = await openAnother()
      await admit(open, [sample()])
      const [before] = (await claim(other)).claims
      assert.ok(before, 'it is leased')
      assert.deepEqual((await claim(open)).claims, [])
      await leave()
      const [after] = (await claim(open)).claims
      assert.ok(after, 'it is due')
      assert.deepEqual([after.id, after.attempt], [before.id, 2])
      assert.ok(after.token > before.token, 'its token has grown')
      assert.deepEqual(heldBy(await holdersOf(open)), [[true, 1]])
    },
  },
  {
    name: 'a living one keeps what it has leased until its lease ends',
    needs: 'holders',
    async run({ open, openAnother }) {
      const { other } = await openAnother()
      await admit(open, [sample()])
      await claim(other)
      assert.deepEqual((await claim(open, { nowMs: START_MS + LEASE_MS - 1 })).claims, [])
      const [taken] = (await claim(open, { nowMs: START_MS + LEASE_MS })).claims
      assert.ok(taken, 'it is due when the lease has ended')
    },
  },
]
