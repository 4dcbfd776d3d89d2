/** Admission: once each, in a batch as alone, with lateness and gaps decided at the same moment. */
import assert from 'node:assert/strict'
import { admit, claim, handOverAll, loneSample, namesOf, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

export const ADMISSION: readonly ConformanceCase[] = [
  {
    name: 'admits each event once: across batches, inside one batch, and after it was settled',
    async run({ open }) {
      assert.deepEqual(await admit(open, [sample({ at: 1 })]), ['new'])
      assert.deepEqual(await admit(open, [sample({ at: 1 }), sample({ at: 2 }), sample({ at: 2 })]), [
        'duplicate',
        'new',
        'duplicate',
      ])
      assert.deepEqual(await handOverAll(open), ['m-1', 'm-2'])
      assert.deepEqual(await admit(open, [sample({ at: 2 })]), ['duplicate'])
      assert.deepEqual((await claim(open)).claims, [])
    },
  },
  {
    name: 'admits a batch of many messages and hands each event over once',
    async run({ open }) {
      const batch = Array.from({ length: 200 }, (_, index) => sample({ message: `m${index % 50}`, at: 1 + index }))
      assert.deepEqual(new Set(await admit(open, batch)), new Set(['new']))
      const names = await handOverAll(open)
      assert.equal(names.length, 200)
      assert.equal(new Set(names).size, 200)
    },
  },
  {
    name: 'takes more reports of one message than any carrier sends, each once, and forgets none of them',
    async run({ open }) {
      const reports = Array.from({ length: 300 }, (_, index) => sample({ at: 1 + index }))
      for (let from = 0; from < reports.length; from += 100) await admit(open, reports.slice(from, from + 100))
      assert.deepEqual(await open.counts(), { unsettled: 300, deadLetters: 0 })
      assert.deepEqual(new Set(await admit(open, reports.slice(150))), new Set(['duplicate']))
      const names = await handOverAll(open)
      assert.equal(names.length, 300)
      assert.equal(new Set(names).size, 300)
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
      assert.deepEqual(new Set(await admit(open, reports)), new Set(['duplicate']))
      assert.equal((await open.latest(sample({}).messageKey))?.record.report?.status, 'm-300')
    },
  },
  {
    name: 'an empty batch is no error',
    async run({ open }) {
      assert.deepEqual(await admit(open, []), [])
    },
  },
  {
    name: 'hands the events of a message over in order, not by arrival',
    async run({ open }) {
      await admit(open, [sample({ at: 3 }), sample({ at: 1 })])
      await admit(open, [sample({ at: 2 })])
      assert.deepEqual(await handOverAll(open), ['m-1', 'm-2', 'm-3'])
    },
  },
  {
    name: 'says late, and hands over as late, what is older than what was handed over',
    async run({ open }) {
      await admit(open, [sample({ at: 2 })])
      await handOverAll(open)
      assert.deepEqual(await admit(open, [sample({ at: 1 }), sample({ at: 3 })]), ['late', 'new'])
      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map(({ late }) => late),
        [true],
      )
      assert.deepEqual(namesOf(claims), ['m-1'])
    },
  },
  {
    name: 'what a handler has in its hands counts as handed over; what only waits does not',
    async run({ open }) {
      await admit(open, [sample({ at: 5 })])
      assert.deepEqual(await admit(open, [sample({ at: 4 })]), ['new'])
      const { claims } = await claim(open)
      assert.deepEqual(namesOf(claims), ['m-4'])
      assert.deepEqual(await admit(open, [sample({ at: 3 }), sample({ at: 6 })]), ['late', 'new'])
    },
  },
  {
    name: 'of two final events neither is late to the other',
    async run({ open }) {
      await admit(open, [sample({ at: 5, final: true })])
      await handOverAll(open)
      assert.deepEqual(await admit(open, [sample({ at: 4, final: true }), sample({ at: 3 })]), ['new', 'late'])
    },
  },
  {
    name: 'a final event is late to a later one that is not final',
    async run({ open }) {
      await admit(open, [sample({ at: 5 })])
      await handOverAll(open)
      assert.deepEqual(await admit(open, [sample({ at: 4, final: true })]), ['late'])
    },
  },
  {
    name: 'an event with a gap before it waits until the gap closes',
    async run({ open }) {
      const later = START_MS + 1_000
      assert.deepEqual(await admit(open, [sample({ at: 2, awaits: 1, step: 2, gapUntilMs: later })]), ['new'])
      const waiting = await claim(open)
      assert.deepEqual(waiting.claims, [])
      assert.equal(waiting.nextDueMs, later)
      await admit(open, [sample({ at: 1, step: 1 })])
      assert.deepEqual(await handOverAll(open), ['m-1', 'm-2'])
    },
  },
  {
    name: 'an event with a gap before it waits no longer than it may',
    async run({ open }) {
      const later = START_MS + 1_000
      await admit(open, [sample({ at: 2, awaits: 1, gapUntilMs: later })])
      assert.deepEqual(await handOverAll(open, later - 1), [])
      assert.deepEqual(await handOverAll(open, later), ['m-2'])
    },
  },
  {
    name: 'there is no gap where the earlier step was seen before, and a late event waits for none',
    async run({ open }) {
      const gapUntilMs = START_MS + 1_000
      await admit(open, [sample({ at: 1, step: 1 })])
      await handOverAll(open)
      await admit(open, [sample({ at: 3, step: 2, awaits: 1, gapUntilMs })])
      assert.deepEqual(await handOverAll(open), ['m-3'])
      assert.deepEqual(await admit(open, [sample({ at: 2, awaits: 4, gapUntilMs })]), ['late'])
      assert.deepEqual(await handOverAll(open), ['m-2'])
    },
  },
  {
    name: 'a closed gap does not hurry an event that waits to be tried again',
    async run({ open }) {
      const later = START_MS + 1_000
      await admit(open, [sample({ at: 2, awaits: 1, gapUntilMs: START_MS })])
      const { claims } = await claim(open)
      const retryMs = START_MS + 5_000
      const retries = claims.map((claimed) => settlementOf(claimed, { outcome: 'retry', dueMs: retryMs, error: 'no' }))
      assert.deepEqual(await open.settle(retries, START_MS), [true])
      await admit(open, [sample({ at: 1, step: 1 })], later)
      assert.deepEqual(namesOf((await claim(open, { nowMs: later })).claims), ['m-1'])
    },
  },
  {
    name: 'events of no message have neither order nor lateness',
    async run({ open }) {
      assert.deepEqual(await admit(open, [loneSample('b'), loneSample('a'), loneSample('b')]), [
        'new',
        'new',
        'duplicate',
      ])
      const { claims } = await claim(open)
      assert.equal(claims.length, 2)
      assert.deepEqual(
        claims.map(({ late }) => late),
        [false, false],
      )
    },
  },
]
