/**
 * Admission with a claim of what was admitted, for a store that has it: each case says what must not be claimed. Of what
 * may be, a store may claim fewer, so what it left is claimed by `claim`; only the plain case must be claimed at once.
 */
import assert from 'node:assert/strict'
import type { Claim, ClaimRequest, NewEvent } from '../inbox/store.ts'
import { admit, admitAndClaim, claim, LEASE_MS, namesOf, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase, Fixture } from './suite.ts'

const AFTER_MS = START_MS + LEASE_MS

/** Admits and claims, and claims what was left of it. */
async function handOver(
  open: Fixture['open'],
  events: readonly NewEvent[],
  request: Partial<ClaimRequest> = {},
): Promise<readonly Claim[]> {
  const { claims } = await admitAndClaim(open, events, request)
  return [...claims, ...(await claim(open, request)).claims]
}

async function settleAll(open: Fixture['open'], claims: readonly Claim[]): Promise<void> {
  const settled = await open.settle(
    claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
    START_MS,
  )
  assert.deepEqual(
    settled,
    claims.map(() => true),
  )
}

const CASES: readonly Omit<ConformanceCase, 'needs'>[] = [
  {
    name: 'leases an event of a message that was not known, and gives back what it was given',
    async run({ open }) {
      const event = sample({ raw: Buffer.from(Array.from({ length: 256 }, (_, index) => index)) })
      const { admissions, claims } = await admitAndClaim(open, [event])
      assert.deepEqual(admissions, ['new'])
      const [claimed] = claims
      assert.ok(claimed)
      const { token, record, raw, ...rest } = claimed
      assert.deepEqual(rest, { id: event.id, messageKey: event.messageKey, attempt: 1, late: false, replay: false })
      assert.deepEqual(record, event.record)
      assert.ok(Buffer.isBuffer(raw), 'the bytes come back as a Buffer')
      assert.deepEqual(raw, event.raw)
      assert.ok(token > 0)
      assert.deepEqual((await claim(open)).claims, [])
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      await settleAll(open, claims)
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.equal((await open.latest(event.messageKey))?.record.report?.status, 'm-1')
    },
  },
  {
    name: 'a lease that runs out gives the event to the next who asks, as it was admitted',
    async run({ open }) {
      const event = sample({ raw: Buffer.from([0, 255, 10, 13]) })
      const [first] = (await admitAndClaim(open, [event])).claims
      assert.ok(first)
      const { claims, nextDueMs } = await claim(open, { nowMs: AFTER_MS - 1 })
      assert.deepEqual(claims, [])
      assert.equal(nextDueMs, AFTER_MS)
      const [second] = (await claim(open, { nowMs: AFTER_MS })).claims
      assert.ok(second)
      assert.equal(second.attempt, 2)
      assert.ok(second.token > first.token, 'a fencing token grows with every claim')
      assert.deepEqual(second.record, event.record)
      assert.deepEqual(second.raw, event.raw)
      assert.deepEqual(await open.settle([settlementOf(first, { outcome: 'done' })], AFTER_MS), [false])
      assert.deepEqual(await open.settle([settlementOf(second, { outcome: 'done' })], AFTER_MS), [true])
    },
  },
  {
    name: 'an event that waits for a step is not claimed, and comes when its time is over',
    async run({ open }) {
      const gapUntilMs = START_MS + 700
      const { admissions, claims } = await admitAndClaim(open, [sample({ awaits: 1, gapUntilMs })])
      assert.deepEqual(admissions, ['new'])
      assert.deepEqual(claims, [])
      assert.equal((await claim(open)).nextDueMs, gapUntilMs)
      const [claimed] = (await claim(open, { nowMs: gapUntilMs })).claims
      assert.equal(claimed?.attempt, 1)
    },
  },
  {
    name: 'a step that closes a gap goes first, and what waited for it goes next',
    async run({ open }) {
      const gapUntilMs = START_MS + 700
      await admit(open, [sample({ at: 2, step: 2, awaits: 1, gapUntilMs })])
      const first = await handOver(open, [sample({ at: 1, step: 1 })])
      assert.deepEqual(namesOf(first), ['m-1'])
      await settleAll(open, first)
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-2'])
    },
  },
  {
    name: 'nothing of a message that somebody holds is claimed',
    async run({ open }) {
      await admit(open, [sample({ at: 2 })])
      const held = await claim(open)
      for (const [at, expected] of [
        [1, 'late'],
        [3, 'new'],
      ] as const) {
        const { admissions, claims } = await admitAndClaim(open, [sample({ at })])
        assert.deepEqual(admissions, [expected])
        assert.deepEqual(claims, [])
      }
      const own = await admitAndClaim(open, [sample({ message: 'other' })])
      assert.deepEqual((await admitAndClaim(open, [sample({ message: 'other', at: 2 })])).claims, [])
      assert.deepEqual((await claim(open)).claims, [])
      await settleAll(open, [...held.claims, ...own.claims])
      assert.deepEqual(namesOf((await claim(open)).claims).toSorted(), ['m-1', 'other-2'])
    },
  },
  {
    name: 'a duplicate is not claimed: of one that waits, that is held, that is settled, or in the same batch',
    async run({ open }) {
      await admit(open, [sample({ message: 'waits' })])
      const event = sample({ message: 'held' })
      const { claims } = await admitAndClaim(open, [event])
      const again = await admitAndClaim(open, [sample({ message: 'waits' }), event])
      assert.deepEqual(again, { admissions: ['duplicate', 'duplicate'], claims: [] })
      await settleAll(open, claims)
      assert.deepEqual(await admitAndClaim(open, [event]), { admissions: ['duplicate'], claims: [] })
      const twice = [sample({ message: 'twice' }), sample({ message: 'twice' })]
      const both = await admitAndClaim(open, twice)
      assert.deepEqual(both.admissions, ['new', 'duplicate'])
      assert.ok(both.claims.length <= 1)
      const left = (await claim(open)).claims
      assert.deepEqual(namesOf([...both.claims, ...left]).toSorted(), ['twice-1', 'waits-1'])
      assert.ok([...both.claims, ...left].every(({ attempt }) => attempt === 1))
    },
  },
  {
    name: 'of two of one message in a batch at most the first by order is claimed',
    async run({ open }) {
      const batch = [sample({ at: 2 }), sample({ at: 1 }), sample({ at: 3 })]
      const { admissions, claims } = await admitAndClaim(open, batch)
      assert.deepEqual(admissions, ['new', 'new', 'new'])
      assert.deepEqual(namesOf(claims), claims.length === 0 ? [] : ['m-1'])
      const left = (await claim(open)).claims
      assert.deepEqual(namesOf([...claims, ...left]), ['m-1'])
      await settleAll(open, [...claims, ...left])
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-2'])
    },
  },
  {
    name: 'not before an older event of its message that is to be tried again',
    async run({ open }) {
      const claims = await handOver(open, [sample({ at: 1 })])
      await open.settle(
        claims.map((claimed) => settlementOf(claimed, { outcome: 'retry', dueMs: START_MS + 500, error: 'no' })),
        START_MS,
      )
      assert.deepEqual((await admitAndClaim(open, [sample({ at: 2 })])).claims, [])
      assert.deepEqual((await claim(open)).claims, [])
      const [again] = (await claim(open, { nowMs: START_MS + 500 })).claims
      assert.equal(again?.record.report?.status, 'm-1')
    },
  },
  {
    name: 'nor before an older one that waits to be claimed, and nothing but what it was given',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ message: 'other' })])
      const { claims } = await admitAndClaim(open, [sample({ at: 2 }), sample({ message: 'third' })])
      assert.ok(claims.every(({ messageKey }) => messageKey === sample({ message: 'third' }).messageKey))
      const left = (await claim(open)).claims
      assert.deepEqual(namesOf([...claims, ...left]).toSorted(), ['m-1', 'other-1', 'third-1'])
    },
  },
  {
    name: 'what is older than what was handed over is late, and claimed as late',
    async run({ open }) {
      await settleAll(open, await handOver(open, [sample({ at: 2 })]))
      const { admissions, claims } = await admitAndClaim(open, [sample({ at: 1 })])
      assert.deepEqual(admissions, ['late'])
      const left = (await claim(open)).claims
      assert.deepEqual(
        [...claims, ...left].map(({ late, attempt }) => ({ late, attempt })),
        [{ late: true, attempt: 1 }],
      )
      await settleAll(open, [...claims, ...left])
      // One that was late takes nothing back of what was handed over.
      assert.deepEqual(await admit(open, [sample({ at: 1, name: 'older' }), sample({ at: 3 })]), ['late', 'new'])
    },
  },
  {
    name: 'what it claims counts as handed over: a final report makes no other final one late',
    async run({ open }) {
      const { claims } = await admitAndClaim(open, [sample({ at: 3, final: true })])
      assert.deepEqual(namesOf(claims), ['m-3'])
      assert.deepEqual(await admit(open, [sample({ at: 2, final: true }), sample({ at: 1 })]), ['new', 'late'])
      await admitAndClaim(open, [sample({ message: 'open', at: 3 })])
      assert.deepEqual(await admit(open, [sample({ message: 'open', at: 2, final: true })]), ['late'])
    },
  },
  {
    name: 'what it does not claim counts as not handed over',
    async run({ open }) {
      const { claims } = await admitAndClaim(open, [sample({ at: 2 })], { limit: 0 })
      assert.deepEqual(claims, [])
      assert.deepEqual(await admit(open, [sample({ at: 1 })]), ['new'])
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-1'])
    },
  },
  {
    name: 'at most the limit, in the order given, and the rest is left to others',
    async run({ open }) {
      const batch = ['e', 'd', 'c', 'b', 'a'].map((message) => sample({ message }))
      const { admissions, claims } = await admitAndClaim(open, batch, { limit: 2 })
      assert.deepEqual(admissions, ['new', 'new', 'new', 'new', 'new'])
      assert.ok(claims.length <= 2, 'at most the limit')
      const places = claims.map(({ id }) => batch.findIndex((event) => event.id === id))
      assert.deepEqual(places, places.toSorted())
      const left = (await claim(open)).claims
      assert.equal(claims.length + left.length, 5)
      await settleAll(open, [...claims, ...left])
    },
  },
  {
    name: 'passes over the messages that are excluded, without losing them',
    async run({ open }) {
      const excluded = sample({ message: 'a' })
      const { claims } = await admitAndClaim(open, [excluded, sample({ message: 'b' })], {
        exclude: new Set([excluded.messageKey]),
      })
      assert.ok(claims.every(({ messageKey }) => messageKey !== excluded.messageKey))
      const left = (await claim(open)).claims
      assert.deepEqual(namesOf([...claims, ...left]).toSorted(), ['a-1', 'b-1'])
    },
  },
  {
    name: 'admits and claims many at once, known messages among them',
    async run({ open }) {
      const batchOf = (at: number): readonly NewEvent[] =>
        Array.from({ length: 60 }, (_, index) => sample({ message: `m${index}`, at }))
      for (const at of [1, 2]) {
        const claims = await handOver(open, batchOf(at))
        assert.equal(new Set(namesOf(claims)).size, 60)
        await settleAll(open, claims)
      }
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
    },
  },
  {
    name: 'an empty batch is no error',
    async run({ open }) {
      assert.deepEqual(await admitAndClaim(open, []), { admissions: [], claims: [] })
    },
  },
]

export const ADMIT_AND_CLAIM: readonly ConformanceCase[] = [
  {
    name: 'the store has it exactly where it says so',
    run({ open, capabilities }) {
      assert.equal(open.admitAndClaim !== undefined, capabilities.admitsAndClaims === true)
      return Promise.resolve()
    },
  },
  ...CASES.map((one) => ({ ...one, needs: 'admitAndClaim' as const })),
]
