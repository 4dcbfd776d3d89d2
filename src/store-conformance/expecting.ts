/** What was sent: handed out with what is reported of it, and noticed where nothing is. */
import assert from 'node:assert/strict'
import type {
  EndedExpectation,
  ForgetRequest,
  NewEvent,
  NewExpectation,
  OpenStore,
  StoredExpectation,
} from '../inbox/store.ts'
import { admit, admitAndClaim, allOf, claim, digestOf, handOverAll, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

const DAY_MS = 86_400_000
/** As order.ts has it. */
const EXPECTED = 8

function sent(
  message: string,
  {
    afterMs = 60_000,
    sentAtMs = START_MS,
    meta,
    to = '+254700000001',
  }: { afterMs?: number; sentAtMs?: number; meta?: unknown; to?: string } = {},
): NewExpectation {
  const overdueAtMs = START_MS + afterMs
  return {
    messageKey: sample({ message }).messageKey,
    sentAtMs,
    overdueAtMs,
    expectation: { messageId: message, to, channel: 'sms', meta: meta ?? {}, sentAtMs, overdueAtMs },
  }
}

/** A report that ends nothing. */
function open(message: string, at = 1, name?: string): NewEvent {
  const event = sample({ message, at, ...(name === undefined ? {} : { name }) })
  return { ...event, order: `${event.order.slice(0, 12)}1${event.order.slice(13)}` }
}

function overdueOf(message: string, nowMs: number): NewEvent {
  const { messageKey, expectation } = sent(message)
  const { record } = sample({ message })
  const { report: _, ...rest } = record
  return {
    id: digestOf(`overdue ${message}`),
    messageKey,
    order: '',
    final: false,
    step: 0,
    awaits: 0,
    gapUntilMs: nowMs,
    record: { ...rest, proof: 'none', timestampSource: 'clock', overdue: true },
    raw: Buffer.from(JSON.stringify(expectation)),
  }
}

async function expect(store: OpenStore<object>, messages: readonly NewExpectation[], nowMs = START_MS) {
  assert.ok(store.expect, 'the store says that it has expect')
  return store.expect(messages, nowMs)
}

async function overdueAt(store: OpenStore<object>, nowMs: number, limit = 100) {
  assert.ok(store.overdue, 'the store says that it has overdue')
  const { items, nextMs } = await store.overdue({ nowMs, limit })
  return { messages: items.map(({ expectation }) => expectation.messageId), nextMs }
}

async function admitOverdue(store: OpenStore<object>, events: readonly NewEvent[], nowMs: number) {
  assert.ok(store.admitOverdue, 'the store says that it has admitOverdue')
  return store.admitOverdue(events, nowMs)
}

async function awaitNoMore(store: OpenStore<object>, ended: readonly EndedExpectation[], nowMs = START_MS) {
  assert.ok(store.awaitNoMore, 'the store says that it has awaitNoMore')
  await store.awaitNoMore(ended, nowMs)
}

async function allSent(store: OpenStore<object>, limit = 2, fromMs = 0, toMs = START_MS + DAY_MS) {
  return allOf<StoredExpectation>(async (after) => {
    assert.ok(store.expectations, 'the store says that it has expectations')
    return store.expectations({ after, limit, fromMs, toMs })
  })
}

/** In all steps of it. */
async function statesForgotten(store: OpenStore<object>, request: ForgetRequest): Promise<number> {
  let states = 0
  let after: string | undefined
  do {
    const counts = await store.forget?.({ ...request, after }, START_MS)
    states += counts?.states ?? 0
    after = counts?.next
  } while (after !== undefined)
  return states
}

const LATER = START_MS + 120_000

export const EXPECTING: readonly ConformanceCase[] = [
  {
    name: 'hands out what was sent with every report of it: claimed, claimed at admission, replayed, latest, a dead letter',
    needs: 'expect',
    async run({ open: store }) {
      const expected = { expectation: sent('m', { meta: { order: '\u0000é\ud800' } }).expectation, wasOverdue: false }
      assert.deepEqual(await expect(store, [sent('m', { meta: { order: '\u0000é\ud800' } })]), [true])
      assert.equal(await store.latest(sample().messageKey), undefined)
      assert.deepEqual(await admit(store, [open('m', 1), open('other', 1)]), ['new', 'new'])
      const { claims } = await claim(store)
      const [mine, other] = [claims.find(({ id }) => id === sample().id), claims.find(({ id }) => id !== sample().id)]
      assert.ok(mine && other)
      assert.deepEqual(mine.expected, expected)
      assert.equal(other.expected, undefined)
      await store.settle([settlementOf(mine, { outcome: 'dead', error: 'no' })], START_MS)
      const { items } = await store.deadLetters({ after: undefined, limit: 10 })
      assert.deepEqual(items[0]?.expected, expected)
      await store.resolve(mine.id, 'replay', START_MS)
      assert.deepEqual((await claim(store)).claims[0]?.expected, expected)
      assert.deepEqual((await store.latest(sample().messageKey))?.expected, expected)
    },
  },
  {
    name: 'hands it out with what is leased as it is admitted',
    needs: 'admitAndClaim',
    async run({ open: store, capabilities }) {
      if (capabilities.expects !== true) return
      await expect(store, [sent('m')])
      const { claims } = await admitAndClaim(store, [open('m', 1), open('other', 1)])
      const names = claims.map(({ record, expected }) => [record.report?.status, expected?.expectation.messageId])
      assert.deepEqual(names, [
        ['m-1', 'm'],
        ['other-1', undefined],
      ])
    },
  },
  {
    name: 'knows what it was told before, changes nothing of it, and counts none of it as unsettled',
    needs: 'expect',
    async run({ open: store }) {
      await admit(store, [open('known', 1)])
      await handOverAll(store)
      assert.deepEqual(await expect(store, [sent('known'), sent('m')]), [true, true])
      assert.deepEqual(await expect(store, [sent('m', { meta: 'other' }), sent('new')]), [false, true])
      assert.deepEqual(await expect(store, []), [])
      assert.deepEqual(await store.counts(), { unsettled: 0, deadLetters: 0 })
      const all = await allSent(store)
      assert.deepEqual(all.map(({ expectation }) => expectation.messageId).toSorted(), ['known', 'm', 'new'])
      const one = await store.expectations?.({
        after: undefined,
        limit: 1,
        fromMs: 0,
        toMs: 0,
        messageKey: sent('m').messageKey,
      })
      assert.deepEqual(
        one?.items.map(({ expectation }) => expectation.messageId),
        ['m'],
      )
      assert.deepEqual(all.find(({ expectation }) => expectation.messageId === 'm')?.expectation.meta, {})
      const known = all.find(({ expectation }) => expectation.messageId === 'known')
      assert.equal(known?.latest?.record.report?.status, 'known-1')
    },
  },
  {
    name: 'lists what is overdue, the longest first, and when the next will be',
    needs: 'expect',
    async run({ open: store }) {
      await expect(store, [sent('c', { afterMs: 3_000 }), sent('a', { afterMs: 1_000 }), sent('b', { afterMs: 2_000 })])
      assert.deepEqual(await overdueAt(store, START_MS), { messages: [], nextMs: START_MS + 1_000 })
      assert.deepEqual((await overdueAt(store, START_MS + 1_000)).messages, ['a'])
      assert.equal((await overdueAt(store, START_MS + 1_000)).nextMs, START_MS + 2_000)
      const { messages, nextMs } = await overdueAt(store, LATER, 2)
      assert.equal(messages.length, 2)
      assert.ok(nextMs !== undefined && nextMs <= LATER, 'there is more')
      assert.deepEqual((await overdueAt(store, LATER)).messages.toSorted(), ['a', 'b', 'c'])
    },
  },
  {
    name: 'admits what is overdue once, in turn with the reports of its message, which know of it',
    needs: 'expect',
    async run({ open: store }) {
      await expect(store, [sent('m')])
      assert.deepEqual(await admitOverdue(store, [overdueOf('m', LATER), overdueOf('stranger', LATER)], LATER), [
        true,
        false,
      ])
      assert.deepEqual(await admitOverdue(store, [overdueOf('m', LATER)], LATER), [false])
      assert.deepEqual(await overdueAt(store, LATER + DAY_MS), { messages: [], nextMs: undefined })
      assert.deepEqual(await store.counts(), { unsettled: 1, deadLetters: 0 })
      const [overdue] = (await claim(store, { nowMs: LATER })).claims
      assert.ok(overdue)
      assert.equal(overdue.record.overdue, true)
      assert.deepEqual(overdue.raw, overdueOf('m', LATER).raw)
      assert.equal(overdue.late, false)
      await admit(store, [sample({ message: 'm', final: true })], LATER)
      assert.deepEqual((await claim(store, { nowMs: LATER })).claims, [])
      assert.deepEqual(await store.settle([settlementOf(overdue, { outcome: 'done' })], LATER), [true])
      const [report] = (await claim(store, { nowMs: LATER })).claims
      assert.equal(report?.late, false)
      assert.equal(report.expected?.wasOverdue, true)
      assert.equal((await store.latest(report.messageKey))?.expected?.wasOverdue, true)
      assert.deepEqual(await admit(store, [overdueOf('m', LATER)], LATER), ['duplicate'])
    },
  },
  {
    name: 'admits none of a message that has an end, whether it was handed over or waits, and asks no more of it',
    needs: 'expect',
    async run({ open: store }) {
      const end = sample({ message: 'waiting', final: true })
      const read: NewEvent = { ...open('read', 1), order: open('read', 1).order.replace(/^(.{12})./, '$14'), step: 4 }
      await expect(store, [sent('ended'), sent('waiting'), sent('open'), sent('read')])
      await admit(store, [sample({ message: 'ended', final: true }), open('open', 1), read])
      await handOverAll(store)
      await admit(store, [end])
      const names = ['ended', 'waiting', 'open', 'read']
      const events = names.map((name) => overdueOf(name, LATER))
      assert.deepEqual(await admitOverdue(store, events, LATER), [false, false, true, false])
      assert.deepEqual((await overdueAt(store, LATER)).messages, [])
      const flags = new Map((await allSent(store)).map((each) => [each.expectation.messageId, each.wasOverdue]))
      assert.deepEqual(
        names.map((name) => flags.get(name)),
        [false, false, true, false],
      )
    },
  },
  {
    name: 'awaits no more of what was ended, keeps what is said of it then, and changes nothing that was decided',
    needs: 'expect',
    async run({ open: store }) {
      await expect(store, [sent('ended'), sent('made'), sent('open')])
      assert.deepEqual(await admitOverdue(store, [overdueOf('made', LATER)], LATER), [true])
      const ended = ['ended', 'made', 'stranger'].map((name): EndedExpectation => {
        const { messageKey, sentAtMs } = sent(name)
        return { messageKey, expectation: { sentAtMs, reference: `\u0000é ${name}`, recipients: 0 } }
      })
      await awaitNoMore(store, ended, LATER)
      await awaitNoMore(store, ended, LATER)
      await awaitNoMore(store, [])
      assert.deepEqual(await overdueAt(store, LATER), { messages: ['open'], nextMs: undefined })
      const late = [overdueOf('ended', LATER), overdueOf('stranger', LATER)]
      assert.deepEqual(await admitOverdue(store, late, LATER), [false, false])
      const kept = new Map((await allSent(store)).map((each) => [each.messageKey, each]))
      assert.equal(kept.size, 3)
      for (const [at, wasOverdue] of [false, true].entries()) {
        const { messageKey = '', expectation } = ended[at] ?? {}
        assert.deepEqual(kept.get(messageKey)?.expectation, expectation)
        assert.equal(kept.get(messageKey)?.wasOverdue, wasOverdue)
      }
      // It is known all the same.
      assert.deepEqual(await expect(store, [sent('ended')]), [false])
    },
  },
  {
    name: 'forgets what is expected alone where its own key is named, and it is new then',
    needs: 'expect',
    async run({ open: store, capabilities }) {
      if (capabilities.forgets !== true) return
      const { messageKey } = sent('m')
      await expect(store, [sent('m')])
      await admitOverdue(store, [overdueOf('m', LATER)], LATER)
      assert.equal(await statesForgotten(store, { targets: [{ messageKey, ids: [messageKey] }], dryRun: false }), 1)
      assert.deepEqual(await store.counts(), { unsettled: 1, deadLetters: 0 })
      assert.deepEqual(await allSent(store), [])
      assert.deepEqual(await expect(store, [sent('m', { meta: 'again' })], LATER), [true])
      assert.deepEqual((await overdueAt(store, LATER + DAY_MS)).messages, ['m'])
      assert.equal((await allSent(store))[0]?.expectation.meta, 'again')
    },
  },
  {
    name: 'decides once where two processes ask at once',
    needs: 'expect',
    async run({ open: store, openAnother, capabilities }) {
      if (!capabilities.shared) return
      const { other, leave } = await openAnother()
      const names = Array.from({ length: 20 }, (_, at) => `m${at}`)
      await expect(
        store,
        names.map((name) => sent(name)),
      )
      const events = names.map((name) => overdueOf(name, LATER))
      const [one, two] = await Promise.all([admitOverdue(store, events, LATER), admitOverdue(other, events, LATER)])
      assert.ok(
        names.every((_, at) => one[at] !== two[at]),
        'exactly one of them',
      )
      assert.deepEqual(await store.counts(), { unsettled: 20, deadLetters: 0 })
      await leave()
    },
  },
  {
    name: 'ends the wait of a report that overtook it, and lets none wait that comes after it',
    needs: 'expect',
    async run({ open: store }) {
      const held = { awaits: EXPECTED, gapUntilMs: START_MS + 5_000 }
      await admit(store, [
        { ...open('early', 1), ...held },
        { ...open('orphan', 1), ...held },
      ])
      assert.deepEqual((await claim(store)).claims, [])
      await expect(store, [sent('early'), sent('soon')])
      const { claims } = await claim(store)
      assert.deepEqual(
        claims.map(({ record, expected }) => [record.report?.status, expected?.expectation.messageId]),
        [['early-1', 'early']],
      )
      await admit(store, [{ ...open('soon', 1), ...held }])
      assert.deepEqual(
        (await claim(store)).claims.map(({ record }) => record.report?.status),
        ['soon-1'],
      )
      assert.deepEqual(
        (await claim(store, { nowMs: START_MS + 5_000 })).claims.map(({ record }) => record.report?.status),
        ['orphan-1'],
      )
    },
  },
  {
    name: 'walks through what was sent in a period, each once, with its latest state',
    needs: 'expect',
    async run({ open: store }) {
      const names = Array.from({ length: 9 }, (_, at) => `m${at}`)
      await expect(
        store,
        names.map((name, at) => sent(name, { sentAtMs: START_MS + at })),
      )
      await admit(store, [sample({ message: 'm4', final: true })])
      const all = await allSent(store, 2, START_MS + 2, START_MS + 7)
      assert.deepEqual(all.map(({ expectation }) => expectation.messageId).toSorted(), ['m2', 'm3', 'm4', 'm5', 'm6'])
      assert.deepEqual(
        all.map(({ latest }) => latest?.finals.length).filter((count) => count !== undefined),
        [1],
      )
    },
  },
  {
    name: 'finds what was sent to somebody, the newest first and each once, though a look is bounded',
    needs: 'expect',
    async run({ open: store }) {
      if (store.sentTo === undefined) return
      const to = ['25470é\u0000', '+25470é\u0000']
      const meant = new Map([
        [5_998, '25470é\u0000'],
        [5_997, '+25470é\u0000'],
        [3_000, '25470é\u0000'],
        [2, '+25470é\u0000'],
      ])
      const all = Array.from({ length: 6_000 }, (_, at) => {
        // One that has the number by chance.
        const meta = at === 5_999 ? { to: to[0] } : undefined
        return sent(`m${at}`, { sentAtMs: START_MS + Math.floor(at / 3), to: meant.get(at) ?? `254711${at}`, meta })
      })
      for (let from = 0; from < all.length; from += 500) await expect(store, all.slice(from, from + 500))
      await admit(store, [sample({ message: 'm3000', final: true })])

      async function found(limit: number, range: { fromMs?: number; toMs?: number } = {}) {
        const items = await allOf<StoredExpectation>(async (after) => {
          const page = await store.sentTo?.({ to, after, limit, ...range })
          assert.ok(page && page.items.length <= limit)
          return page
        })
        return items.map(({ expectation, latest }) => `${expectation.messageId ?? ''} ${latest?.finals.length ?? 0}`)
      }

      const walked = ['m5998 0', 'm5997 0', 'm3000 1', 'm2 0']
      for (const limit of [1, 3, 100]) assert.deepEqual((await found(limit)).toSorted(), walked.toSorted())
      assert.deepEqual((await found(100)).slice(2), walked.slice(2))
      assert.deepEqual(await found(1, { fromMs: START_MS + 1_000, toMs: START_MS + 1_999 }), ['m3000 1'])
      assert.deepEqual(await found(1, { fromMs: START_MS + 1_001, toMs: START_MS + 1_999 }), [])
      const none = await allOf<StoredExpectation>(async (after) => {
        return (await store.sentTo?.({ to: ['254711'], after, limit: 5 })) ?? { items: [] }
      })
      assert.deepEqual(none, [])
    },
  },
  {
    name: 'forgets it with its message, and walks by it on the way through what names a person',
    needs: 'expect',
    async run({ open: store, capabilities }) {
      if (capabilities.forgets !== true) return
      await expect(store, [sent('m'), sent('other')])
      const { messageKey } = sent('m')
      const kept = await allOf(async (after) => {
        assert.ok(store.kept)
        return store.kept({ after, limit: 1 })
      })
      const found = kept.find((each) => each.messageKey === messageKey && each.id === messageKey)
      assert.deepEqual(found?.raw && JSON.parse(Buffer.from(found.raw).toString()), sent('m').expectation)
      const targets = [{ messageKey, ids: [sample().id] }]
      assert.equal(await statesForgotten(store, { targets, dryRun: false }), 0)
      assert.equal(await statesForgotten(store, { targets: [{ messageKey }], dryRun: true }), 1)
      assert.equal(await statesForgotten(store, { targets: [{ messageKey }], dryRun: false }), 1)
      assert.deepEqual(
        (await allSent(store)).map(({ expectation }) => expectation.messageId),
        ['other'],
      )
      assert.deepEqual(await admitOverdue(store, [overdueOf('m', LATER)], LATER), [false])
      await admit(store, [open('m', 1)])
      assert.equal((await claim(store)).claims[0]?.expected, undefined)
    },
  },
  {
    name: 'keeps what is awaited however old it is, and forgets what is decided when identities are',
    needs: 'expect',
    async run({ open: store }) {
      const ninetyMs = 90 * DAY_MS
      await expect(store, [sent('old'), sent('far', { afterMs: 2 * ninetyMs })])
      await admitOverdue(store, [overdueOf('old', LATER)], LATER)
      const [claimed] = (await claim(store, { nowMs: LATER })).claims
      assert.ok(claimed)
      await store.settle([settlementOf(claimed, { outcome: 'done' })], LATER)
      for (let days = 1; days <= 4; days += 1)
        for (let steps = 0; steps < 5; steps += 1) await store.prune(LATER + (days * ninetyMs) / 4)
      assert.deepEqual(
        (await allSent(store)).map(({ expectation }) => expectation.messageId),
        ['far'],
      )
      assert.deepEqual((await overdueAt(store, START_MS + 2 * ninetyMs)).messages, ['far'])
    },
  },
  {
    name: 'keeps it over a restart',
    needs: 'lasting expect',
    async run({ open: store, reopen }) {
      await expect(store, [sent('m'), sent('made')])
      await admitOverdue(store, [overdueOf('made', LATER)], LATER)
      const again = await reopen()
      assert.deepEqual((await overdueAt(again, LATER)).messages, ['m'])
      assert.deepEqual(await admitOverdue(again, [overdueOf('made', LATER), overdueOf('m', LATER)], LATER), [
        false,
        true,
      ])
    },
  },
]
