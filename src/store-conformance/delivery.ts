/** Admission and delivery of many events at once: leases, settlements, dead letters, workers. The interleavings cover the outcomes. */
import assert from 'node:assert/strict'
import {
  admit,
  claim,
  DAY_MS,
  dispatchAll,
  LEASE_MS,
  sample,
  samplesOf,
  settlementOf,
  START_MS,
  admitAndClaim,
  loneSample,
  namesOf,
} from './samples.ts'
import {
  claimNames,
  claimOne,
  deadLettersOf,
  DEAD,
  die,
  DONE,
  settleAll,
  until,
  type ConformanceCase,
} from './suite.ts'
import { MAX_EVENTS, MAX_SETTLED } from '../messages/record.ts'
import type { Admission, OpenStore, WorkerState } from '../inbox/store.ts'

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
    name: 'a message whose first event is due after its lease is claimed then, and delays no other message',
    async run({ open }) {
      // Of the same time and rank, so that the first one is not late.
      const [first, second] = [sample({ name: 'a' }), sample({ name: 'b' })].toSorted((one, other) =>
        one.order < other.order ? -1 : 1,
      )
      assert.ok(first !== undefined && second !== undefined)
      const leaseEndMs = START_MS + LEASE_MS
      const gapUntilMs = leaseEndMs + LEASE_MS
      await admit(open, [second])
      await claimOne(open)
      await admit(open, [{ ...first, awaits: 1, gapUntilMs }])
      await admit(open, [sample({ message: 'other' })], leaseEndMs)
      assert.deepEqual(await claimNames(open, { nowMs: leaseEndMs, limit: 1 }), ['other-1'])
      assert.deepEqual(await claim(open, { nowMs: gapUntilMs - 1 }), { claims: [], nextDueMs: gapUntilMs })
      const { claims } = await claim(open, { nowMs: gapUntilMs })
      assert.ok(claims.some(({ id }) => id === first.id))
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

export const ADMISSION: readonly ConformanceCase[] = [
  {
    name: 'an event of no message has no order, is never late, and makes no latest state',
    async run({ open }) {
      const [a, b] = [loneSample('a'), loneSample('b')]
      assert.deepEqual(await admit(open, []), [])
      assert.deepEqual(await admit(open, [b, a, b]), ['new', 'new', 'duplicate'])
      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map(({ id, late }) => `${id} ${late}`).toSorted(),
        [`${a.id} false`, `${b.id} false`].toSorted(),
      )
      assert.equal(await open.latest(a.messageKey), undefined)
    },
  },
  {
    name: 'a batch of many messages, known ones among them, some leased at once: each event runs once',
    async run({ open }) {
      for (const at of [1, 2, 3]) {
        const batch = Array.from({ length: 200 }, (_, index) =>
          sample({ message: `m${index % 150}`, at: at * 1_000 + index }),
        )
        const isLeasing = at > 1 && open.admitAndClaim !== undefined
        const { admissions, claims } = isLeasing
          ? await admitAndClaim(open, batch, { limit: 20 })
          : { admissions: await admit(open, batch), claims: [] }
        assert.deepEqual(new Set(admissions), new Set(['new']))
        assert.ok(claims.length <= 20, 'at most the limit')
        await settleAll(open, claims)
        const names = [...namesOf(claims), ...(await dispatchAll(open))]
        assert.deepEqual([names.length, new Set(names).size], [200, 200])
      }
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
    },
  },
  {
    name: 'runs many reports of one message in order, and moves those beyond 1,000 to the dead letters',
    async run({ open }) {
      const reports = Array.from({ length: MAX_EVENTS + 2 }, (_, index) => sample({ at: 1 + index }))
      const admissions: Admission[] = []
      for (let from = 0; from < reports.length; from += 200)
        admissions.push(...(await admit(open, reports.slice(from, from + 200))))
      assert.deepEqual(new Set(admissions.slice(0, MAX_EVENTS)), new Set(['new']))
      assert.deepEqual(admissions.slice(MAX_EVENTS), ['crowded', 'crowded'])
      assert.deepEqual(await open.counts(), { unsettled: MAX_EVENTS, deadLetters: 2 })
      const letters = await deadLettersOf(open)
      const beyond = reports.slice(MAX_EVENTS)
      assert.deepEqual(new Set(letters.map(({ id }) => id)), new Set(beyond.map(({ id }) => id)))
      for (const { error } of letters) assert.match(error, /message_crowded/)
      const [letter] = letters
      assert.deepEqual(new Set(await admit(open, reports.slice(-300))), new Set(['duplicate']))
      for (const report of reports.slice(0, MAX_SETTLED + 10)) {
        const claimed = await claimOne(open)
        assert.equal(claimed.id, report.id)
        await settleAll(open, [claimed])
      }
      const known = reports.slice(10, MAX_SETTLED + 10)
      assert.deepEqual(new Set(await admit(open, known)), new Set(['duplicate']))
      assert.equal(await open.resolve(letter?.id ?? '', 'replay', START_MS), true)
      const unsettled = MAX_EVENTS - MAX_SETTLED - 10 + 1
      assert.deepEqual(await open.counts(), { unsettled, deadLetters: 1 })
      assert.equal((await open.latest(sample().messageKey))?.record.report?.status, `m-${MAX_EVENTS + 2}`)
    },
  },
]

async function workersOf(open: OpenStore<object>): Promise<readonly WorkerState[]> {
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
      await claim(other, { limit: 2 })
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
    name: 'a live worker keeps its leases until they expire; events of a worker that leaves are due at once, with a greater token',
    async run({ open, openAnother, close }) {
      const other = await openAnother()
      await admit(open, [sample()])
      const before = await claimOne(other)
      assert.deepEqual(await claimNames(open, { nowMs: START_MS + LEASE_MS - 1 }), [])
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
