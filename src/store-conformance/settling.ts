/** Settling: done, to be tried again, or dead; and what may be done with the dead. */
import assert from 'node:assert/strict'
import { systemClock } from '../clock.ts'
import { admit, claim, handOverAll, LEASE_MS, namesOf, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase, Fixture } from './suite.ts'

/** What is said after an answer comes soon; a busy machine may take its time. */
const LOOK_MS = 5
const LOOKS = 2_000

/** Claims the only due event and buries it. */
async function bury(open: Fixture['open'], error = 'it failed', nowMs = START_MS): Promise<string> {
  const [claimed] = (await claim(open, { nowMs, limit: 1 })).claims
  assert.ok(claimed)
  assert.deepEqual(await open.settle([settlementOf(claimed, { outcome: 'dead', error })], nowMs), [true])
  return claimed.id
}

export const SETTLING: readonly ConformanceCase[] = [
  {
    name: 'a retry is due when it was said to be, with its attempts counted, and holds the later ones back',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ at: 2 })])
      const dueMs = START_MS + 500
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      await open.settle([settlementOf(claimed, { outcome: 'retry', dueMs, error: 'no' })], START_MS)
      assert.deepEqual((await claim(open, { nowMs: dueMs - 1 })).claims, [])
      const [again] = (await claim(open, { nowMs: dueMs })).claims
      assert.equal(again?.attempt, 2)
      assert.equal(again.record.report?.status, 'm-1')
    },
  },
  {
    name: 'what was not begun is given back: due when it was said to be, in its turn, and that attempt does not count',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ at: 2 })])
      const dueMs = START_MS + 500
      const [failing] = (await claim(open)).claims
      assert.ok(failing)
      await open.settle([settlementOf(failing, { outcome: 'retry', dueMs: START_MS, error: 'no' })], START_MS)
      const [unbegun] = (await claim(open)).claims
      assert.ok(unbegun)
      assert.equal(unbegun.attempt, 2)
      const back = settlementOf(unbegun, { outcome: 'unbegun', dueMs })
      assert.deepEqual(await open.settle([back], START_MS), [true])
      assert.deepEqual((await claim(open, { nowMs: dueMs - 1 })).claims, [])
      const [again] = (await claim(open, { nowMs: dueMs })).claims
      assert.deepEqual([again?.attempt, again?.record.report?.status], [2, 'm-1'])
      assert.deepEqual(await open.settle([back], dueMs), [false])
      assert.deepEqual(await handOverAll(open, dueMs + LEASE_MS), ['m-1', 'm-2'])
    },
  },
  {
    name: 'what was given back is due when it was said to be, also where the step has come that it had waited for',
    async run({ open }) {
      const nowMs = START_MS + 10
      await admit(open, [sample({ at: 2, step: 2, awaits: 1, gapUntilMs: nowMs })])
      const [waited] = (await claim(open, { nowMs })).claims
      assert.ok(waited)
      await open.admit([sample({ at: 1, step: 1 })], nowMs)
      const dueMs = nowMs + 500
      assert.deepEqual(await open.settle([settlementOf(waited, { outcome: 'unbegun', dueMs })], nowMs), [true])
      const [step] = (await claim(open, { nowMs })).claims
      assert.equal(step?.record.report?.status, 'm-1')
      assert.deepEqual(await open.settle([settlementOf(step, { outcome: 'done' })], nowMs), [true])
      assert.deepEqual((await claim(open, { nowMs: dueMs - 1 })).claims, [])
      assert.deepEqual(namesOf((await claim(open, { nowMs: dueMs })).claims), ['m-2'])
    },
  },
  ...(['comes', 'is replayed'] as const).map((what): ConformanceCase => ({
    name: `what was given back is due when it was said to be, also where the step ${what} then that it had waited for`,
    async run({ open }) {
      const nowMs = START_MS + 10
      const step = sample({ at: 1, step: 1 })
      if (what === 'is replayed') {
        await open.admit([step], nowMs)
        const [failing] = (await claim(open, { nowMs })).claims
        assert.ok(failing)
        await open.settle([settlementOf(failing, { outcome: 'dead', error: 'no' })], nowMs)
      }
      await open.admit([sample({ at: 2, step: 2, awaits: 1, gapUntilMs: nowMs })], nowMs)
      const [waited] = (await claim(open, { nowMs })).claims
      assert.ok(waited)
      const dueMs = nowMs + 500
      assert.deepEqual(await open.settle([settlementOf(waited, { outcome: 'unbegun', dueMs })], nowMs), [true])
      if (what === 'comes') await open.admit([step], nowMs)
      else assert.equal(await open.resolve(step.id, 'replay', nowMs), true)
      const [first] = (await claim(open, { nowMs })).claims
      assert.equal(first?.record.report?.status, 'm-1')
      assert.deepEqual(await open.settle([settlementOf(first, { outcome: 'done' })], nowMs), [true])
      assert.deepEqual((await claim(open, { nowMs: dueMs - 1 })).claims, [])
      assert.deepEqual(namesOf((await claim(open, { nowMs: dueMs })).claims), ['m-2'])
    },
  })),
  {
    name: 'whoever ends an event hears that more of its message waits, where the store says that it tells of it',
    async run({ open, timesTold }) {
      await admit(open, [sample({ at: 1 })])
      const [first] = (await claim(open)).claims
      assert.ok(first)
      await admit(open, [sample({ at: 2 })])
      const before = timesTold()
      assert.deepEqual(await open.settle([settlementOf(first, { outcome: 'done' })], START_MS), [true])
      for (let look = 0; open.tellsOfRest === true && timesTold() === before && look < LOOKS; look += 1)
        await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_MS, true))
      if (open.tellsOfRest === true) assert.ok(timesTold() > before, 'onWork was called')
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-2'])
    },
  },
  {
    name: 'settling twice, or with another token, changes nothing',
    async run({ open }) {
      await admit(open, [sample()])
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const done = settlementOf(claimed, { outcome: 'done' })
      assert.deepEqual(await open.settle([{ ...done, token: claimed.token + 1 }], START_MS), [false])
      assert.deepEqual(await open.settle([done, done], START_MS), [true, false])
    },
  },
  {
    name: 'who did not hear that a retry was settled settles it again, until somebody claims it anew',
    async run({ open }) {
      await admit(open, [sample()])
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const dueMs = START_MS + 500
      const retry = settlementOf(claimed, { outcome: 'retry', dueMs, error: 'no' })
      const repeated = settlementOf(claimed, { outcome: 'retry', dueMs: dueMs + 100, error: 'no' })
      assert.deepEqual(await open.settle([retry], START_MS), [true])
      assert.deepEqual(await open.settle([repeated], START_MS + 100), [true])
      assert.deepEqual((await claim(open, { nowMs: dueMs + 99 })).claims, [])
      const [again] = (await claim(open, { nowMs: dueMs + 100 })).claims
      assert.equal(again?.attempt, 2)
      assert.deepEqual(await open.settle([retry], dueMs + 100), [false])
    },
  },
  {
    name: 'a lazy settlement is made all the same, and frees its message',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ at: 2 })])
      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const done = settlementOf(claimed, { outcome: 'done' })
      assert.deepEqual(await open.settle([done], START_MS, true), [true])
      assert.deepEqual(await open.settle([done], START_MS, true), [false])
      assert.deepEqual(namesOf((await claim(open)).claims), ['m-2'])
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
    },
  },
  {
    name: 'settles many at once and answers for each',
    async run({ open }) {
      await admit(
        open,
        Array.from({ length: 60 }, (_, index) => sample({ message: `m${index}` })),
      )
      const { claims } = await claim(open)
      const settlements = claims.map((claimed, index) =>
        settlementOf(index % 2 === 0 ? claimed : { ...claimed, token: claimed.token + 1_000 }, { outcome: 'done' }),
      )
      const expected = settlements.map((_, index) => index % 2 === 0)
      assert.deepEqual(await open.settle(settlements, START_MS), expected)
    },
  },
  {
    name: 'a dead letter keeps its error and its bytes, and lets the later ones of its message go on',
    async run({ open }) {
      const event = sample({ at: 1 })
      await admit(open, [event, sample({ at: 2 })])
      await bury(open, 'the reason', START_MS + 1)
      const { items, next } = await open.deadLetters({ after: undefined, limit: 10 })
      assert.equal(next, undefined)
      const [letter] = items
      assert.ok(letter)
      assert.deepEqual(
        { id: letter.id, attempts: letter.attempts, error: letter.error, diedAtMs: letter.diedAtMs },
        { id: event.id, attempts: 1, error: 'the reason', diedAtMs: START_MS + 1 },
      )
      assert.deepEqual(letter.record, event.record)
      assert.deepEqual(Buffer.from(letter.raw), event.raw)
      assert.deepEqual(await handOverAll(open), ['m-2'])
      assert.deepEqual(await admit(open, [event]), ['duplicate'])
    },
  },
  {
    name: 'pages through dead letters, oldest first, each once',
    async run({ open }) {
      const ids: string[] = []
      for (let index = 0; index < 7; index += 1) {
        await admit(open, [sample({ message: `m${index}` })])
        ids.push(await bury(open, 'no', START_MS + index))
      }
      const seen: string[] = []
      let after: string | undefined
      for (let pages = 0; pages < 3; pages += 1) {
        const page = await open.deadLetters({ after, limit: 3 })
        seen.push(...page.items.map(({ id }) => id))
        assert.equal(page.next === undefined, pages === 2)
        after = page.next
      }
      assert.deepEqual(seen, ids)
    },
  },
  {
    name: 'a replayed dead letter is due at once, as a replay with its attempts counted anew',
    async run({ open }) {
      await admit(open, [sample()])
      const id = await bury(open)
      assert.equal(await open.resolve(id, 'replay', START_MS + 5), true)
      assert.deepEqual((await open.deadLetters({ after: undefined, limit: 10 })).items, [])
      const [again] = (await claim(open, { nowMs: START_MS + 5 })).claims
      assert.ok(again)
      assert.deepEqual(
        { id: again.id, attempt: again.attempt, replay: again.replay, late: again.late },
        { id, attempt: 1, replay: true, late: false },
      )
      assert.equal(await open.resolve(id, 'replay', START_MS + 5), false)
    },
  },
  {
    name: 'a discarded dead letter is gone, is not handed over, and is still known as a duplicate',
    async run({ open }) {
      await admit(open, [sample()])
      const id = await bury(open)
      assert.equal(await open.resolve(id, 'discard', START_MS + 5), true)
      assert.deepEqual((await open.deadLetters({ after: undefined, limit: 10 })).items, [])
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual((await claim(open, { nowMs: START_MS + 5 })).claims, [])
      assert.deepEqual(await open.admit([sample()], START_MS + 6), ['duplicate'])
      assert.equal(await open.resolve(id, 'discard', START_MS + 5), false)
      assert.equal(await open.resolve(id, 'replay', START_MS + 5), false)
    },
  },
  {
    name: 'a replay comes as late where a later event was handed over meanwhile, unless it is forced',
    async run({ open }) {
      await admit(open, [sample({ at: 1 }), sample({ at: 2 })])
      const id = await bury(open)
      assert.deepEqual(await handOverAll(open), ['m-2'])
      assert.equal(await open.resolve(id, 'replay', START_MS), true)
      const [late] = (await claim(open)).claims
      assert.equal(late?.late, true)
      await open.settle([settlementOf(late, { outcome: 'dead', error: 'again' })], START_MS)
      assert.equal(await open.resolve(id, 'force', START_MS), true)
      const [forced] = (await claim(open)).claims
      assert.equal(forced?.late, false)
    },
  },
  {
    name: 'counts what is unsettled and what is dead',
    async run({ open }) {
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      await admit(open, [sample({ at: 1 }), sample({ at: 2 }), sample({ message: 'other' })])
      assert.deepEqual(await open.counts(), { unsettled: 3, deadLetters: 0 })
      await bury(open)
      assert.deepEqual(await open.counts(), { unsettled: 2, deadLetters: 1 })
      await handOverAll(open)
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 1 })
    },
  },
  {
    name: 'prune forgets nothing that is unsettled, dead, or still to be recognised',
    async run({ open }) {
      const waiting = sample({ message: 'waiting', awaits: 1, gapUntilMs: START_MS + 60_000 })
      await admit(open, [waiting, sample({ message: 'settled' })])
      await handOverAll(open)
      await admit(open, [sample({ message: 'dead' })])
      await bury(open)
      const laterMs = START_MS + 60_000
      await open.prune(laterMs)
      assert.deepEqual(await admit(open, [sample({ message: 'settled' }), waiting], laterMs), [
        'duplicate',
        'duplicate',
      ])
      assert.deepEqual(namesOf((await claim(open, { nowMs: laterMs })).claims), ['waiting-1'])
      assert.equal((await open.deadLetters({ after: undefined, limit: 1 })).items.length, 1)
    },
  },
]
