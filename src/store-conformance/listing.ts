/** The list of events: newest first, each once, with what the store still knows of them and nothing that it does not. */
import assert from 'node:assert/strict'
import type { NewEvent, OpenStore, StoredEvent } from '../inbox/store.ts'
import { admit, allOf, claim, digestOf, LEASE_MS, list, loneSample, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

async function listOne(open: OpenStore<object>, { id, messageKey }: NewEvent): Promise<StoredEvent> {
  const { items } = await list(open, { messageKey })
  const found = items.find((item) => item.id === id)
  assert.ok(found, 'the event is listed')
  return found
}

/** Takes each event in its own second and hands it over in the same. */
async function comeOneByOne(open: OpenStore<object>, names: readonly string[]): Promise<readonly NewEvent[]> {
  const events: NewEvent[] = []
  for (const [index, name] of names.entries()) {
    const nowMs = START_MS + index * 1_000
    const plain = sample({ message: name, name })
    const event = { ...plain, record: { ...plain.record, receivedAtMs: nowMs } }
    await admit(open, [event], nowMs)
    const { claims } = await claim(open, { nowMs })
    await open.settle(
      claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
      nowMs,
    )
    events.push(event)
  }
  return events
}

export const LISTING: readonly ConformanceCase[] = [
  {
    name: 'lists nothing of a store in which nothing is, and none for a message or an identity that it does not know',
    needs: 'events',
    async run({ open }) {
      assert.deepEqual(await list(open), { items: [] })
      await admit(open, [sample()])
      assert.deepEqual(await list(open, { messageKey: digestOf('nothing') }), { items: [] })
      assert.deepEqual(await list(open, { id: digestOf('nothing') }), { items: [] })
    },
  },
  {
    name: 'lists what came, the newest first, and pages through it, each once',
    needs: 'events',
    async run({ open }) {
      const names = Array.from({ length: 7 }, (_, index) => `m${index}`)
      const expected = (await comeOneByOne(open, names)).map(({ id }) => id).reverse()
      const { items, next } = await list(open)
      assert.deepEqual(
        items.map(({ id }) => id),
        expected,
      )
      assert.equal(next, undefined)
      const paged = await allOf(async (after) => {
        const page = await list(open, { after, limit: 3 })
        assert.ok(page.items.length <= 3)
        return page
      })
      assert.deepEqual(
        paged.map(({ id }) => id),
        expected,
      )
    },
  },
  {
    name: 'says of an event that it is due, leased, to be tried again, dead, due again, settled',
    needs: 'events',
    async run({ open }) {
      const event = sample()
      await admit(open, [event])
      const due = await listOne(open, event)
      assert.deepEqual(
        [due.state, due.attempts, due.late, due.dueMs, due.endedAtMs, due.error],
        ['due', 0, false, START_MS, undefined, undefined],
      )
      assert.deepEqual([due.record, due.raw && Buffer.from(due.raw)], [event.record, event.raw])

      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const leased = await listOne(open, event)
      assert.deepEqual([leased.state, leased.attempts, leased.dueMs], ['leased', 1, START_MS + LEASE_MS])

      const dueMs = START_MS + 5_000
      await open.settle([settlementOf(claimed, { outcome: 'retry', dueMs, error: 'no' })], START_MS)
      const again = await listOne(open, event)
      assert.deepEqual([again.state, again.attempts, again.dueMs], ['due', 1, dueMs])

      const [second] = (await claim(open, { nowMs: dueMs })).claims
      assert.ok(second)
      await open.settle([settlementOf(second, { outcome: 'dead', error: 'the reason' })], dueMs + 1)
      const dead = await listOne(open, event)
      assert.deepEqual(
        [dead.state, dead.attempts, dead.dueMs, dead.endedAtMs, dead.error],
        ['dead', 2, undefined, dueMs + 1, 'the reason'],
      )
      assert.deepEqual([dead.record, dead.raw && Buffer.from(dead.raw)], [event.record, event.raw])

      assert.equal(await open.resolve(event.id, 'replay', dueMs + 2), true)
      assert.equal((await listOne(open, event)).state, 'due')
      const [third] = (await claim(open, { nowMs: dueMs + 2 })).claims
      assert.ok(third)
      await open.settle([settlementOf(third, { outcome: 'done' })], dueMs + 3)
      const { state, dueMs: none, error } = await listOne(open, event)
      assert.deepEqual([state, none, error], ['settled', undefined, undefined])
      assert.equal((await list(open)).items.length, 1)
    },
  },
  {
    name: 'finds the events of one message, and one by its identity, among all others',
    needs: 'events',
    async run({ open }) {
      const mine = [sample({ message: 'mine', at: 1 }), sample({ message: 'mine', at: 2 })]
      const lone = loneSample('payment')
      await admit(open, [sample({ message: 'a' }), ...mine, lone, sample({ message: 'b' })])
      const [first, second] = mine
      assert.ok(first && second)
      const { items } = await list(open, { messageKey: first.messageKey })
      assert.deepEqual(new Set(items.map(({ id }) => id)), new Set([first.id, second.id]))
      assert.equal(items.length, 2)
      for (const event of [...mine, lone]) {
        const found = await list(open, { id: event.id })
        assert.deepEqual(
          found.items.map(({ id, record }) => [id, record?.report?.status]),
          [[event.id, event.record.report?.status]],
        )
      }
    },
  },
]
