/** Tests sends: returned with the reports of their message, and found if no report arrives. */
import assert from 'node:assert/strict'
import type { Expectation } from '../messages/expected.ts'
import { EXPECTED } from '../messages/order.ts'
import type { NewEvent, NewExpectation, OpenStore, StoredExpectation } from '../inbox/store.ts'
import { erase, keptOf } from './erasing.ts'
import { admit, admitAndClaim, allOf, claim, DAY_MS, digestOf, dispatchAll, sample, START_MS } from './samples.ts'
import { claimNames, claimOne, DEAD, deadLettersOf, settleAll, type ConformanceCase } from './suite.ts'

/** A time at which the samples are overdue. */
const LATER_MS = START_MS + 120_000

function sent(message: string, given: Partial<Expectation> = {}): NewExpectation {
  const times = { sentAtMs: START_MS, overdueAtMs: START_MS + 60_000 }
  const expectation = { messageId: message, to: '+254700000001', channel: 'sms', meta: {}, ...times, ...given }
  const { sentAtMs, overdueAtMs } = expectation
  return { messageKey: sample({ message }).messageKey, sentAtMs, overdueAtMs, expectation }
}

/** A report that is not final. */
function openReport(message: string): NewEvent {
  const event = sample({ message })
  return { ...event, order: `${event.order.slice(0, 12)}1${event.order.slice(13)}` }
}

function overdueEvent(message: string): NewEvent {
  const { report: _, ...record } = sample({ message }).record
  return {
    ...sample({ message }),
    id: digestOf(`overdue ${message}`),
    order: '',
    record: { ...record, proof: 'none', timestampSource: 'clock', overdue: true },
    raw: Buffer.from(JSON.stringify(sent(message).expectation)),
  }
}

/** The operations for sends. */
function sendsOf(open: OpenStore<object>) {
  const { expect, awaitNoMore, overdue, admitOverdue, expectations } = open
  assert.ok(expect && awaitNoMore && overdue && admitOverdue && expectations, 'the store has all operations for sends')
  return { expect, awaitNoMore, overdue, admitOverdue, expectations }
}

async function expect(open: OpenStore<object>, messages: readonly NewExpectation[]) {
  return sendsOf(open).expect(messages, START_MS)
}

async function overdueAt(open: OpenStore<object>, nowMs: number, limit = 100) {
  const { items, nextMs } = await sendsOf(open).overdue({ nowMs, limit })
  return { messages: items.map(({ expectation }) => expectation.messageId), nextMs }
}

async function admitOverdue(open: OpenStore<object>, messages: readonly string[]) {
  return sendsOf(open).admitOverdue(messages.map(overdueEvent), LATER_MS)
}

async function allSent(open: OpenStore<object>, range: { limit?: number; fromMs?: number; toMs?: number } = {}) {
  return allOf(async (after) =>
    sendsOf(open).expectations({ after, limit: 2, fromMs: 0, toMs: START_MS + DAY_MS, ...range }),
  )
}

const idsOf = (all: readonly StoredExpectation[]) => all.map(({ expectation }) => expectation.messageId)

export const SENDS: readonly ConformanceCase[] = [
  {
    name: 'are returned with every report of their message: claimed, leased at admission, replayed, latest, dead',
    async run({ open }) {
      const send = sent('m', { meta: { order: '\u0000é\ud800' } })
      const expected = { expectation: send.expectation, wasOverdue: false }
      await admit(open, [{ ...openReport('early'), awaits: EXPECTED, gapUntilMs: LATER_MS }])
      assert.deepEqual(await claimNames(open), [])
      assert.deepEqual(await expect(open, [send, sent('early')]), [true, true])
      const early = await claimOne(open)
      assert.equal(early.expected?.expectation.messageId, 'early', 'it waited for its send')
      assert.deepEqual(await expect(open, [sent('m', { meta: 'other' })]), [false])
      assert.equal(await open.latest(send.messageKey), undefined)
      const reports = [openReport('m'), openReport('other')]
      const isAtOnce = open.admitAndClaim !== undefined
      const admitted = isAtOnce ? (await admitAndClaim(open, reports)).claims : []
      if (!isAtOnce) await admit(open, reports)
      const claims = [...admitted, ...(await claim(open)).claims]
      assert.equal(claims.length, 2)
      const mine = claims.filter(({ messageKey }) => messageKey === send.messageKey)
      for (const one of claims) assert.deepEqual(one.expected, mine.includes(one) ? expected : undefined)
      await settleAll(open, mine, DEAD)
      assert.deepEqual((await deadLettersOf(open))[0]?.expected, expected)
      await open.resolve(mine[0]?.id ?? '', 'replay', START_MS)
      assert.deepEqual((await claimOne(open)).expected, expected)
      assert.deepEqual((await open.latest(send.messageKey))?.expected, expected)
    },
  },
  {
    name: '`overdue` returns overdue sends, earliest first, and the time of the next; it changes nothing',
    async run({ open }) {
      const messages = ['c', 'a', 'b'].map((name, at) =>
        sent(name, { overdueAtMs: START_MS + 1_000 * (at === 0 ? 3 : at) }),
      )
      await expect(open, messages)
      assert.deepEqual(await overdueAt(open, START_MS), { messages: [], nextMs: START_MS + 1_000 })
      for (let times = 0; times < 2; times += 1)
        assert.deepEqual(await overdueAt(open, START_MS + 1_000), { messages: ['a'], nextMs: START_MS + 2_000 })
      const { messages: two, nextMs } = await overdueAt(open, LATER_MS, 2)
      assert.deepEqual(two.toSorted(), ['a', 'b'])
      assert.ok(nextMs !== undefined && nextMs <= LATER_MS, 'there is more')
      assert.deepEqual((await overdueAt(open, LATER_MS)).messages.toSorted(), ['a', 'b', 'c'])
    },
  },
  {
    name: 'a message without a final report becomes overdue once, in any process and after a restart; its reports show it',
    async run({ open: opened, openAnother, reopen, capabilities }) {
      await admit(opened, [openReport('known')])
      await dispatchAll(opened)
      const names = ['m', 'known', 'ended', 'given up', 'awaited']
      await expect(
        opened,
        names.map((name) => sent(name)),
      )
      await admit(opened, [sample({ message: 'ended', final: true })])
      await dispatchAll(opened)
      const end = { messageKey: sent('given up').messageKey, expectation: { sentAtMs: START_MS, reference: '\u0000é' } }
      await sendsOf(opened).awaitNoMore([end], START_MS)
      assert.deepEqual(await opened.counts(), { unsettled: 0, deadLetters: 0 })
      const asked = ['m', 'known', 'ended', 'given up', 'stranger']
      const askers = capabilities.shared ? [opened, await openAnother()] : [opened]
      const decided = await Promise.all(askers.map(async (asker) => admitOverdue(asker, asked)))
      const times = asked.map((_, index) => decided.filter((admitted) => admitted[index] === true).length)
      assert.deepEqual(times, [1, 1, 0, 0, 0])
      const open = capabilities.durable ? await reopen() : opened
      assert.deepEqual(await admitOverdue(open, asked), [false, false, false, false, false])
      assert.deepEqual(await overdueAt(open, LATER_MS), { messages: ['awaited'], nextMs: undefined })
      const all = new Map((await allSent(open)).map((each) => [each.messageKey, each]))
      const kept = names.map((name) => all.get(sent(name).messageKey))
      assert.deepEqual([all.size, kept.map((each) => each?.wasOverdue)], [5, [true, true, false, false, false]])
      assert.deepEqual(kept[3]?.expectation, end.expectation)
      assert.equal(kept[1]?.latest?.record.report?.status, 'known-1')

      const { claims } = await claim(open, { nowMs: LATER_MS })
      assert.deepEqual(
        claims.map(({ raw }) => raw.toString()).toSorted(),
        ['m', 'known'].map((name) => overdueEvent(name).raw.toString()).toSorted(),
      )
      await settleAll(open, claims, undefined, LATER_MS)
      await admit(open, [sample()], LATER_MS)
      const report = await claimOne(open, { nowMs: LATER_MS })
      assert.deepEqual([report.late, report.expected?.wasOverdue], [false, true])
      assert.deepEqual(await admit(open, [overdueEvent('m')], LATER_MS), ['duplicate'])
    },
  },
  {
    name: 'are listed by the time of the send, each once, with the latest state; also those of a period, or of one message',
    async run({ open }) {
      const messages = Array.from({ length: 9 }, (_, at) => sent(`m${at}`, { sentAtMs: START_MS + Math.floor(at / 2) }))
      await expect(open, messages.toReversed())
      await admit(open, [sample({ message: 'm4', final: true })])
      for (const limit of [1, 2, 100]) {
        const all = await allSent(open, { limit })
        assert.deepEqual(
          all.map(({ expectation }) => expectation.sentAtMs),
          messages.map(({ sentAtMs }) => sentAtMs),
        )
        assert.equal(new Set(idsOf(all)).size, 9)
        const some = await allSent(open, { limit, fromMs: START_MS + 1, toMs: START_MS + 3 })
        assert.deepEqual(idsOf(some).toSorted(), ['m2', 'm3', 'm4', 'm5'])
        assert.deepEqual(idsOf(some.filter(({ latest }) => latest?.finals.length === 1)), ['m4'])
      }
      const { messageKey } = sent('m4')
      const page = await sendsOf(open).expectations({ after: undefined, limit: 1, fromMs: 0, toMs: 0, messageKey })
      assert.deepEqual(idsOf(page.items), ['m4'])
    },
  },
  {
    name: 'sends to a recipient are found, newest first and without duplicates, by bounded searches',
    async run({ open }) {
      if (open.sentTo === undefined) return
      const to = ['25470é\u0000', '+25470é\u0000']
      const meant = [5_998, 5_995, 3_000, 2]
      const all = Array.from({ length: 6_000 }, (_, at) =>
        sent(`m${at}`, {
          sentAtMs: START_MS + Math.floor(at / 3),
          to: (meant.includes(at) ? to[at % 2] : undefined) ?? `254711${at}`,
          // One message has the number in another field.
          meta: at === 5_999 ? { to: to[0] } : undefined,
        }),
      )
      for (let from = 0; from < all.length; from += 500) await expect(open, all.slice(from, from + 500))
      async function found(limit: number, range: { fromMs?: number; toMs?: number } = {}) {
        const items = await allOf<StoredExpectation>(async (after) => {
          const page = await open.sentTo?.({ to, after, limit, ...range })
          assert.ok(page && page.items.length <= limit)
          return page
        })
        return idsOf(items)
      }
      for (const limit of [1, 3, 100])
        assert.deepEqual(
          await found(limit),
          meant.map((at) => `m${at}`),
        )
      assert.deepEqual(await found(1, { fromMs: START_MS + 1_000, toMs: START_MS + 1_998 }), ['m3000'])
      assert.deepEqual(await found(1, { fromMs: START_MS + 1_001, toMs: START_MS + 1_998 }), [])
    },
  },
  {
    name: 'are erased with their message, or alone by its key as an id, and `kept` finds them',
    async run({ open }) {
      await expect(open, [sent('m'), sent('alone'), sent('other')])
      await admitOverdue(open, ['alone'])
      const [{ messageKey, expectation }, { messageKey: alone }] = [sent('m'), sent('alone')]
      const found = (await keptOf(open, 1)).find((each) => each.messageKey === messageKey && each.id === messageKey)
      assert.deepEqual(found?.raw && JSON.parse(Buffer.from(found.raw).toString()), expectation)
      for (const [target, dryRun, states] of [
        [{ messageKey, ids: [sample().id] }, false, 0],
        [{ messageKey }, true, 1],
        [{ messageKey }, false, 1],
        [{ messageKey: alone, ids: [alone] }, false, 1],
      ] as const)
        assert.equal((await erase(open, [target], { dryRun })).states, states)
      assert.deepEqual(idsOf(await allSent(open)), ['other'])
      assert.deepEqual(await admitOverdue(open, ['m']), [false])
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      // An erased send can be recorded again.
      assert.deepEqual(await expect(open, [sent('alone', { meta: 'again' })]), [true])
      assert.deepEqual((await overdueAt(open, LATER_MS)).messages.toSorted(), ['alone', 'other'])
    },
  },
  {
    name: 'an erased reference stays used until the identities expire, and that of a send that was not made is free at once',
    async run({ open }) {
      const [erased, unmade] = ['erased', 'unmade'].map((reference) => sent(reference, { reference, recipients: 1 }))
      assert.ok(erased && unmade)
      await expect(open, [erased, unmade])
      await sendsOf(open).awaitNoMore([{ messageKey: unmade.messageKey, expectation: undefined }], START_MS)
      const target = { messageKey: erased.messageKey }
      for (const [dryRun, states] of [
        [true, 1],
        [false, 1],
        [false, 0],
      ] as const)
        assert.equal((await erase(open, [target], { dryRun })).states, states)
      await sendsOf(open).awaitNoMore([{ ...target, expectation: erased.expectation }], START_MS)
      assert.deepEqual(await keptOf(open), [])
      assert.deepEqual(await overdueAt(open, LATER_MS), { messages: [], nextMs: undefined })
      assert.deepEqual(await expect(open, [erased, unmade]), [false, true])
      await open.forget({ targets: [unmade], dryRun: false }, START_MS)
      for (let steps = 0; steps < 5; steps += 1) await open.prune(START_MS + 90 * DAY_MS)
      assert.deepEqual(await allSent(open), [])
      assert.deepEqual(await expect(open, [erased]), [true])
    },
  },
  {
    name: 'an open send is kept at any age; a decided one expires with the identities',
    async run({ open }) {
      const ninetyMs = 90 * DAY_MS
      await expect(open, [sent('old'), sent('far', { overdueAtMs: START_MS + 2 * ninetyMs })])
      await admitOverdue(open, ['old'])
      await settleAll(open, [await claimOne(open, { nowMs: LATER_MS })], undefined, LATER_MS)
      for (let days = 1; days <= 4; days += 1)
        for (let steps = 0; steps < 5; steps += 1) await open.prune(LATER_MS + (days * ninetyMs) / 4)
      assert.deepEqual(idsOf(await allSent(open)), ['far'])
      assert.deepEqual((await overdueAt(open, START_MS + 2 * ninetyMs)).messages, ['far'])
    },
  },
]
