/** Forgetting on demand: nothing is left that may name a person, and a repetition is a duplicate all the same. */
import assert from 'node:assert/strict'
import type { ForgottenCounts, ForgetTarget, KeptEvent, NewEvent, OpenStore } from '../inbox/store.ts'
import {
  admit,
  allOf,
  claim,
  digestOf,
  handOverAll,
  loneSample,
  namesOf,
  sample,
  settlementOf,
  START_MS,
} from './samples.ts'
import type { ConformanceCase } from './suite.ts'

/** All steps of it, added up. */
async function forget(
  open: OpenStore<object>,
  targets: readonly ForgetTarget[],
  { dryRun = false, nowMs = START_MS } = {},
): Promise<Omit<ForgottenCounts, 'next'>> {
  const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }
  let after: string | undefined
  do {
    assert.ok(open.forget, 'the store says that it has forget')
    const { next, ...counts } = await open.forget({ targets, dryRun, after }, nowMs)
    for (const name of ['events', 'unsettled', 'deadLetters', 'states'] as const) sum[name] += counts[name]
    after = next
  } while (after !== undefined)
  return sum
}

async function keptOf(open: OpenStore<object>, limit = 100): Promise<readonly KeptEvent[]> {
  return allOf(async (after) => {
    assert.ok(open.kept, 'the store says that it has kept')
    return open.kept({ after, limit })
  })
}

async function idsKept(open: OpenStore<object>): Promise<ReadonlySet<string>> {
  return new Set((await keptOf(open)).map(({ id }) => id))
}

/** Claims the first of each message that is due, and settles it so. */
async function die(open: OpenStore<object>): Promise<void> {
  const { claims } = await claim(open)
  await open.settle(
    claims.map((claimed) => settlementOf(claimed, { outcome: 'dead', error: 'the reason' })),
    START_MS,
  )
}

async function admissionsOf(open: OpenStore<object>, events: readonly NewEvent[]) {
  return open.admit(events, START_MS)
}

const mine = (at: number, final = false): NewEvent => sample({ message: 'mine', at, final })
const MESSAGE: ForgetTarget = { messageKey: mine(1).messageKey }

export const FORGETTING: readonly ConformanceCase[] = [
  {
    name: 'walks through all that is kept, a step at a time',
    needs: 'forget',
    async run({ open }) {
      const waiting = [...Array(30).keys()].map((at) => sample({ message: `w${at}`, raw: Buffer.from([at, 0, 255]) }))
      const dead = [sample({ message: 'dead' }), loneSample('dead payment')]
      await admit(open, dead)
      await die(open)
      await admit(open, waiting)
      const kept = await keptOf(open, 7)
      for (const event of [...waiting, ...dead]) {
        const found = kept.find(({ id, raw }) => id === event.id && raw !== undefined)
        assert.ok(found, 'it is kept')
        assert.equal(found.messageKey, event.messageKey)
        assert.deepEqual(found.record, event.record)
        assert.deepEqual(found.raw && Buffer.from(found.raw), event.raw)
      }
    },
  },
  {
    name: 'finds the reports of the latest state too',
    needs: 'forget',
    async run({ open }) {
      const reports = [mine(1, true), mine(2, true), mine(3)]
      await admit(open, reports)
      await handOverAll(open)
      const kept = await keptOf(open)
      for (const { id, record } of reports)
        assert.ok(
          kept.some((each) => each.id === id && each.record?.report?.status === record.report?.status),
          'it is found by its identity',
        )
    },
  },
  {
    name: 'forgets a message: what waits, what was settled, dead letters, the latest state; and nothing else',
    needs: 'forget',
    async run({ open }) {
      const others = [sample({ message: 'other', final: true }), loneSample('other payment')]
      const [dead, settled, waiting] = [mine(1), mine(2, true), mine(3)]
      await admit(open, [dead])
      await die(open)
      await admit(open, [settled, ...others])
      await handOverAll(open)
      await admit(open, [waiting])

      const expected = await forget(open, [MESSAGE], { dryRun: true })
      assert.equal((await open.deadLetters({ after: undefined, limit: 10 })).items.length, 1)
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 1 })
      assert.deepEqual(await forget(open, [MESSAGE]), expected)
      assert.deepEqual([expected.unsettled, expected.deadLetters, expected.states], [1, 1, 1])
      // Whether the bytes of a settled one are kept at all is the store's own.
      assert.ok(expected.events === 2 || expected.events === 3, `${expected.events} events`)

      assert.equal(await open.latest(MESSAGE.messageKey), undefined)
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual((await open.deadLetters({ after: undefined, limit: 10 })).items, [])
      assert.deepEqual(await handOverAll(open), [])
      const left = await keptOf(open)
      assert.ok(left.every(({ messageKey }) => messageKey !== MESSAGE.messageKey))
      assert.ok(await open.latest(others[0]?.messageKey ?? ''), 'the other one has its state')
      assert.equal(await open.resolve(dead.id, 'replay', START_MS), false)
      assert.deepEqual(await forget(open, [MESSAGE]), { events: 0, unsettled: 0, deadLetters: 0, states: 0 })
    },
  },
  {
    name: 'knows a repetition of what it has forgotten, and takes a new report as any other',
    needs: 'forget',
    async run({ open }) {
      const [dead, settled, waiting] = [mine(1), mine(2), mine(4)]
      const lone = loneSample('payment')
      await admit(open, [dead])
      await die(open)
      await admit(open, [settled])
      await handOverAll(open)
      await admit(open, [waiting, lone])
      await forget(open, [MESSAGE, { messageKey: lone.messageKey }])
      const all = [dead, settled, waiting, lone]
      assert.deepEqual(await admissionsOf(open, all), ['duplicate', 'duplicate', 'duplicate', 'duplicate'])
      assert.deepEqual(await handOverAll(open), [])

      const [late, fresh] = [sample({ message: 'mine', at: 1, name: 'late' }), mine(3)]
      assert.deepEqual(await admissionsOf(open, [late, fresh]), ['late', 'new'])
      assert.deepEqual(await handOverAll(open), ['late', 'mine-3'])
      const latest = await open.latest(MESSAGE.messageKey)
      assert.equal(latest?.record.report?.status, 'mine-3')
      assert.deepEqual(latest.finals, [])
    },
  },
  {
    name: 'forgets single events of a message, and leaves the others and what they say of it',
    needs: 'forget',
    async run({ open }) {
      const reports = [mine(1, true), mine(2, true), mine(3)]
      await admit(open, reports)
      await handOverAll(open)
      const [first, second, third] = reports.map(({ id }) => id)
      assert.ok(first && second && third)
      const { states } = await forget(open, [{ ...MESSAGE, ids: [first, third] }])
      assert.equal(states, 1)
      const latest = await open.latest(MESSAGE.messageKey)
      assert.equal(latest?.record.report?.status, 'mine-2')
      assert.deepEqual(
        latest.finals.map(({ report }) => report?.status),
        ['mine-2'],
      )
      assert.deepEqual(await idsKept(open), new Set([second]))
      assert.deepEqual(await admissionsOf(open, reports), ['duplicate', 'duplicate', 'duplicate'])
    },
  },
  {
    name: 'hands over what follows a forgotten one that waited, and what waits behind a lease only after it',
    needs: 'forget',
    async run({ open }) {
      const [first, second, third] = [mine(1), mine(2), mine(3)]
      await admit(open, [first, second, third])
      await forget(open, [{ ...MESSAGE, ids: [first.id] }])
      const { claims } = await claim(open)
      assert.deepEqual(namesOf(claims), ['mine-2'])
      await forget(open, [{ ...MESSAGE, ids: [third.id] }])
      assert.deepEqual(namesOf((await claim(open)).claims), [])
      const [held] = claims
      assert.ok(held)
      assert.deepEqual(await open.settle([settlementOf(held, { outcome: 'done' })], START_MS), [true])
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual(namesOf((await claim(open)).claims), [])
    },
  },
  ...(['done', 'retry', 'dead', 'unbegun'] as const).map((outcome): ConformanceCase => ({
    name: `lets whoever holds a forgotten event settle it in vain, as ${outcome}`,
    needs: 'forget',
    async run({ open }) {
      const [first, second] = [mine(1), mine(2)]
      await admit(open, [first, second])
      const [held] = (await claim(open)).claims
      assert.ok(held)
      const { unsettled } = await forget(open, [{ ...MESSAGE, ids: [first.id] }])
      assert.equal(unsettled, 1)
      const dueMs = START_MS
      const error = 'names the person'
      const [settled] = await open.settle(
        [
          settlementOf(
            held,
            outcome === 'done'
              ? { outcome }
              : outcome === 'dead'
                ? { outcome, error }
                : outcome === 'unbegun'
                  ? { outcome, dueMs }
                  : { outcome, dueMs, error },
          ),
        ],
        START_MS,
      )
      assert.equal(settled, false)
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      assert.deepEqual(await handOverAll(open), ['mine-2'])
      assert.deepEqual(await admissionsOf(open, [first]), ['duplicate'])
      assert.ok(!(await idsKept(open)).has(first.id))
    },
  })),
  {
    name: 'has nothing to forget of what it does not know',
    needs: 'forget',
    async run({ open }) {
      await admit(open, [mine(1)])
      const unknown = digestOf('nothing')
      const none = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }
      assert.deepEqual(await forget(open, []), none)
      assert.deepEqual(await forget(open, [{ messageKey: unknown }, { messageKey: unknown, ids: [unknown] }]), none)
      assert.deepEqual(await forget(open, [{ ...MESSAGE, ids: [] }]), none)
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
    },
  },
  {
    name: 'has forgotten for good: a restart brings nothing back',
    needs: 'lasting forget',
    async run({ open, reopen }) {
      await admit(open, [mine(1), mine(2)])
      await claim(open)
      await forget(open, [MESSAGE])
      await open.eraseTraces?.()
      const again = await reopen()
      assert.deepEqual(await again.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual(await keptOf(again), [])
      assert.deepEqual(await admissionsOf(again, [mine(1), mine(2)]), ['duplicate', 'duplicate'])
    },
  },
]
