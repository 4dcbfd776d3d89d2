/** Tests erasure: no personal data remains, and a repeated callback is still a duplicate. */
import assert from 'node:assert/strict'
import type { MessageStore } from '../inbox/store.ts'
import type { ErasedCounts } from '../messages/commands.ts'
import { latestOf, type KeptEvent } from '../messages/views.ts'
import { dispatchAll } from './delivery.ts'
import { admit, claim, digestOf, keyOf, loneSample, sample, samplesOf, settleAll } from './samples.ts'
import { claimOne, die, itemsOf, recordOf, type ConformanceCase } from './suite.ts'

const NOTHING = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }

interface Target {
  readonly key: string
  readonly ids?: readonly string[]
}

export async function erase(open: MessageStore<object>, target: Target, dryRun = false): Promise<ErasedCounts> {
  const [counts = NOTHING] = await open.run([{ do: 'erase', dryRun, ...target }])
  return counts
}

/** Everything that may contain personal data. */
export async function keptOf(open: MessageStore<object>, limit = 100): Promise<readonly KeptEvent[]> {
  return itemsOf(open, { of: 'kept', after: undefined, limit })
}

const mine = (at: number, final = false) => sample({ message: 'mine', at, final })
const MESSAGE: Target = { key: keyOf('mine') }

async function latest(open: MessageStore<object>, key: string) {
  const record = await recordOf(open, key)
  return record && latestOf(record)
}

export const ERASING: readonly ConformanceCase[] = [
  {
    name: '`kept` finds payloads, and the reports of latest states, with any page size',
    async run({ open }) {
      const reports = [mine(1, true), mine(2, true), mine(3)]
      await admit(open, reports)
      await dispatchAll(open)
      const dead = [sample({ message: 'dead' }), loneSample('dead payment', Buffer.from([0, 255]))]
      await die(open, dead)
      const waiting = samplesOf(30)
      await admit(open, waiting)
      for (const limit of [1, 7, 100]) {
        const kept = await keptOf(open, limit)
        for (const { id, messageKey, record, raw } of [...waiting, ...dead]) {
          const found = kept.find((each) => each.id === id && each.raw !== undefined)
          assert.deepEqual(found && [found.messageKey, found.record], [messageKey, record])
          assert.deepEqual(found?.raw && Buffer.from(found.raw), raw)
        }
        for (const { id, record } of reports)
          assert.ok(kept.some((each) => each.id === id && each.record?.report?.status === record.report?.status))
      }
    },
  },
  {
    name: 'erases waiting and settled events, dead letters and the latest state of a message, and of no other',
    async run({ open }) {
      const [dead, settled, waiting] = [mine(1), mine(2, true), mine(4)]
      await die(open, [dead])
      await admit(open, [settled, sample({ message: 'other', final: true }), loneSample('payment')])
      await dispatchAll(open)
      await admit(open, [waiting, sample({ message: 'other', at: 2 })])
      const counts = await erase(open, MESSAGE, true)
      assert.deepEqual(await open.counts(), { unsettled: 2, deadLetters: 1 })
      assert.deepEqual(await erase(open, MESSAGE), counts)
      // A store may drop the payload of a settled event.
      assert.ok(counts.events === 2 || counts.events === 3, `${counts.events} events`)
      assert.deepEqual({ ...counts, events: 0 }, { events: 0, unsettled: 1, deadLetters: 1, states: 1 })
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      assert.ok((await keptOf(open)).every(({ messageKey }) => messageKey !== MESSAGE.key))
      assert.deepEqual(await open.run([{ do: 'resolve', key: MESSAGE.key, id: dead.id, as: 'replay' }]), [false])
      assert.deepEqual(await dispatchAll(open), ['other-2'])
      assert.equal((await latest(open, keyOf('other')))?.finals.length, 1)
      assert.deepEqual(await erase(open, MESSAGE), NOTHING)
      // New reports keep their order.
      const again = [dead, settled, waiting, sample({ message: 'mine', at: 1, name: 'late' }), mine(3)]
      assert.deepEqual(await admit(open, again), ['duplicate', 'duplicate', 'duplicate', 'late', 'new'])
    },
  },
  {
    name: 'erases single events of a message; keeps its other events, their latest state, and the lease of another event',
    async run({ open }) {
      const reports = [1, 2, 3, 4, 5].map((at) => mine(at, at < 3))
      const [first, second, third, fourth, fifth] = reports
      assert.ok(first && second && third && fourth && fifth)
      await admit(open, [first, second, third])
      await dispatchAll(open)
      assert.equal((await erase(open, { ...MESSAGE, ids: [first.id, third.id] })).states, 1)
      const { record, finals } = (await latest(open, MESSAGE.key)) ?? {}
      assert.deepEqual([record, finals], [second.record, [second.record]])
      assert.deepEqual(new Set((await keptOf(open)).map(({ id }) => id)), new Set([second.id]))
      await admit(open, [fourth, fifth])
      const held = await claimOne(open)
      assert.equal((await erase(open, { ...MESSAGE, ids: [fifth.id] })).unsettled, 1)
      assert.deepEqual((await claim(open)).claims, [])
      assert.deepEqual(await settleAll(open, [held]), [true])
      assert.deepEqual(new Set(await admit(open, reports)), new Set(['duplicate']))
    },
  },
  {
    name: 'erases a message of many events, and nothing for unknown keys',
    async run({ open }) {
      const reports = Array.from({ length: 200 }, (_, index) => mine(1 + index))
      await admit(open, reports)
      const unknown = digestOf('nothing')
      for (const target of [{ key: unknown }, { key: unknown, ids: [unknown] }, { ...MESSAGE, ids: [] }])
        assert.deepEqual(await erase(open, target), NOTHING)
      assert.deepEqual(await erase(open, MESSAGE), { events: 200, unsettled: 200, deadLetters: 0, states: 1 })
      assert.deepEqual(await keptOf(open), [])
      assert.deepEqual(new Set(await admit(open, reports)), new Set(['duplicate']))
    },
  },
]
