/** Tests sends: returned with the reports of their message, and found if no report arrives. */
import assert from 'node:assert/strict'
import type { MessageStore } from '../inbox/store.ts'
import type { NewSend } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { Expectation } from '../messages/expected.ts'
import { EXPECTED } from '../messages/order.ts'
import { latestOf, type StoredExpectation } from '../messages/views.ts'
import { dispatchAll } from './delivery.ts'
import { erase, keptOf } from './erasing.ts'
import {
  admit,
  admitting,
  claim,
  DEAD,
  digestOf,
  keyOf,
  LONG_MS,
  RECEIVED_MS,
  sample,
  settleAll,
  settling,
} from './samples.ts'
import { claimOne, itemsOf, PAGE, recordOf, until, type ConformanceCase } from './suite.ts'

interface Given extends Partial<Expectation> {
  readonly overdueInMs?: number | undefined
}

/** A send that is overdue in an hour. */
export function sent(message: string, given: Given = {}): NewSend {
  const { overdueInMs, ...fields } = { overdueInMs: LONG_MS, ...given }
  const expectation: Expectation = {
    messageId: message,
    to: '+254700000001',
    channel: 'sms',
    meta: {},
    sentAtMs: RECEIVED_MS,
    ...fields,
  }
  return { expectation, sentAtMs: expectation.sentAtMs, overdueInMs }
}

const expecting = (message: string, given?: Given) =>
  ({ do: 'expect', key: keyOf(message), send: sent(message, given) }) as const

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

async function becomeOverdue(open: MessageStore<object>, messages: readonly string[]) {
  return open.run(messages.map((name) => ({ do: 'overdue', key: keyOf(name), event: overdueEvent(name) }) as const))
}

async function overdue(open: MessageStore<object>, limit = 100): Promise<ReadonlySet<string>> {
  return new Set((await open.due({ of: 'sends', limit })).keys)
}

async function allSent(open: MessageStore<object>, limit = 2, range: { fromMs?: number; toMs?: number } = {}) {
  return itemsOf(open, { of: 'sends', after: undefined, limit, fromMs: 0, toMs: RECEIVED_MS + LONG_MS, ...range })
}

const idsOf = (all: readonly StoredExpectation[]) => all.map(({ expectation }) => expectation.messageId)

const keysOf = (...messages: readonly string[]) => new Set(messages.map(keyOf))

export const SENDS: readonly ConformanceCase[] = [
  {
    name: 'are returned with every report of their message: leased later or as it is admitted, latest, dead, replayed',
    async run({ open }) {
      const { expectation } = sent('m', { meta: { order: '\u0000é\ud800' } })
      const expected = { expectation, wasOverdue: false }
      await admit(open, [{ ...openReport('early'), awaits: EXPECTED, reorderWaitMs: LONG_MS }])
      assert.deepEqual((await claim(open)).claims, [])
      const both = [expecting('m', { meta: expectation.meta }), expecting('early')]
      assert.deepEqual(await open.run(both), ['new', 'new'])
      const early = await claimOne(open)
      assert.equal(early.expected?.expectation.messageId, 'early', 'it waited for its send')
      assert.deepEqual(await open.run([expecting('m', { meta: 'other' })]), ['known'])
      const [own, other] = await open.run([
        admitting(openReport('m'), LONG_MS),
        admitting(openReport('other'), LONG_MS),
      ])
      assert.deepEqual(own?.granted?.expected, expected)
      assert.ok(other?.granted && other.granted.expected === undefined)
      await open.run([settling({ ...early, ...openReport('m'), ...own.granted }, DEAD)])
      const [letter] = await itemsOf(open, { of: 'deadLetters', ...PAGE })
      assert.deepEqual(letter?.expected, expected)
      await open.run([{ do: 'resolve', key: keyOf('m'), id: letter.id, as: 'replay' }])
      assert.deepEqual((await claimOne(open)).expected, expected)
      const record = await recordOf(open, keyOf('m'))
      assert.deepEqual(record && latestOf(record)?.expected, expected)
    },
  },
  {
    name: '`due` returns overdue sends until they are decided, and when the next one will be',
    async run({ open }) {
      await open.run([expecting('a', { overdueInMs: 0 }), expecting('b', { overdueInMs: 0 }), expecting('c')])
      await until('two are overdue', async () => (await overdue(open)).size === 2)
      for (let times = 0; times < 2; times += 1) assert.deepEqual(await overdue(open), keysOf('a', 'b'))
      assert.equal((await overdue(open, 1)).size, 1)
      const { nextInMs = 0 } = await open.due({ of: 'sends', limit: 100 })
      assert.ok(nextInMs > LONG_MS - 600_000 && nextInMs <= LONG_MS, `the next is overdue in ${nextInMs} ms`)
      assert.deepEqual(await becomeOverdue(open, ['a', 'b']), [true, true])
      assert.deepEqual(await overdue(open), new Set())
    },
  },
  {
    name: 'a message without a final report becomes overdue once, in any process and after a restart; its reports show it',
    async run({ open: opened, openAnother, reopen, capabilities }) {
      await admit(opened, [openReport('known')])
      await dispatchAll(opened)
      const names = ['m', 'known', 'ended', 'given up', 'awaited']
      await opened.run(names.map((name) => expecting(name)))
      await admit(opened, [sample({ message: 'ended', final: true })])
      await dispatchAll(opened)
      const rest = { sentAtMs: RECEIVED_MS, reference: '\u0000é' }
      await opened.run([{ do: 'endSend', key: keyOf('given up'), rest }])
      assert.deepEqual(await opened.counts(), { unsettled: 0, deadLetters: 0 })
      const asked = ['m', 'known', 'ended', 'given up', 'stranger']
      const askers = capabilities.shared ? [opened, await openAnother()] : [opened]
      const decided = await Promise.all(askers.map(async (asker) => becomeOverdue(asker, asked)))
      const times = asked.map((_, index) => decided.filter((admitted) => admitted[index] === true).length)
      assert.deepEqual(times, [1, 1, 0, 0, 0])
      const open = capabilities.durable ? await reopen() : opened
      assert.deepEqual(await becomeOverdue(open, asked), [false, false, false, false, false])
      const all = new Map((await allSent(open)).map((each) => [each.messageKey, each]))
      const kept = names.map((name) => all.get(keyOf(name)))
      assert.deepEqual([all.size, kept.map((each) => each?.wasOverdue)], [5, [true, true, false, false, false]])
      assert.deepEqual(kept[3]?.expectation, rest)
      assert.equal(kept[1]?.latest?.record.report?.status, 'known-1')

      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map(({ raw }) => raw.toString()).toSorted(),
        ['m', 'known'].map((name) => overdueEvent(name).raw.toString()).toSorted(),
      )
      await settleAll(open, claims)
      await admit(open, [sample()])
      const report = await claimOne(open)
      assert.deepEqual([report.late, report.expected?.wasOverdue], [false, true])
      assert.deepEqual(await admit(open, [overdueEvent('m')]), ['duplicate'])
    },
  },
  {
    name: 'are listed by the time of the send, each once, with the latest state; also those of a period',
    async run({ open }) {
      const names = Array.from({ length: 9 }, (_, at) => `m${at}`)
      const timeOf = (at: number) => RECEIVED_MS + Math.floor(at / 2)
      await open.run(names.map((name, at) => expecting(name, { sentAtMs: timeOf(at) })).toReversed())
      await admit(open, [sample({ message: 'm4', final: true })])
      for (const limit of [1, 2, 100]) {
        const all = await allSent(open, limit)
        assert.deepEqual(
          all.map(({ expectation }) => expectation.sentAtMs),
          names.map((_, at) => timeOf(at)),
        )
        assert.equal(new Set(idsOf(all)).size, 9)
        const some = await allSent(open, limit, { fromMs: RECEIVED_MS + 1, toMs: RECEIVED_MS + 3 })
        assert.deepEqual(idsOf(some).toSorted(), ['m2', 'm3', 'm4', 'm5'])
        assert.deepEqual(idsOf(some.filter(({ latest }) => latest?.finals.length === 1)), ['m4'])
      }
    },
  },
  {
    name: 'sends to a recipient are found, newest first and without duplicates, by bounded searches',
    async run({ open }) {
      const to = ['25470é\u0000', '+25470é\u0000']
      const meant = [5_998, 5_995, 3_000, 2]
      const all = Array.from({ length: 6_000 }, (_, at) =>
        expecting(`m${at}`, {
          sentAtMs: RECEIVED_MS + Math.floor(at / 3),
          to: (meant.includes(at) ? to[at % 2] : undefined) ?? `254711${at}`,
          // One message has the number in another field.
          meta: at === 5_999 ? { to: to[0] } : undefined,
        }),
      )
      for (let from = 0; from < all.length; from += 500) await open.run(all.slice(from, from + 500))
      async function found(limit: number, { fromMs = 0, toMs = RECEIVED_MS + LONG_MS } = {}) {
        return idsOf(await itemsOf(open, { of: 'sends', to, after: undefined, limit, fromMs, toMs }))
      }
      for (const limit of [1, 3, 100])
        assert.deepEqual(
          await found(limit),
          meant.map((at) => `m${at}`),
        )
      assert.deepEqual(await found(1, { fromMs: RECEIVED_MS + 1_000, toMs: RECEIVED_MS + 1_998 }), ['m3000'])
      assert.deepEqual(await found(1, { fromMs: RECEIVED_MS + 1_001, toMs: RECEIVED_MS + 1_998 }), [])
    },
  },
  {
    name: 'are erased with their message, or alone by its key as an id, and `kept` finds them',
    async run({ open }) {
      await open.run([expecting('m'), expecting('alone'), expecting('other')])
      await becomeOverdue(open, ['alone'])
      const [key, alone] = [keyOf('m'), keyOf('alone')]
      const found = (await keptOf(open, 1)).find((each) => each.messageKey === key && each.id === key)
      assert.deepEqual(found?.raw && JSON.parse(Buffer.from(found.raw).toString()), sent('m').expectation)
      for (const [target, dryRun, states] of [
        [{ key, ids: [sample().id] }, false, 0],
        [{ key }, true, 1],
        [{ key }, false, 1],
        [{ key: alone, ids: [alone] }, false, 1],
      ] as const)
        assert.equal((await erase(open, target, dryRun)).states, states)
      assert.deepEqual(idsOf(await allSent(open)), ['other'])
      assert.deepEqual(await becomeOverdue(open, ['m']), [false])
      assert.deepEqual(await open.counts(), { unsettled: 1, deadLetters: 0 })
      // An erased send can be recorded again.
      assert.deepEqual(await open.run([expecting('alone', { meta: 'again' })]), ['new'])
    },
  },
  {
    name: 'an erased reference stays used, and that of a send that was not made is free at once',
    async run({ open }) {
      const reserve = (reference: string) => expecting(reference, { reference, recipients: 1 })
      await open.run([reserve('erased'), reserve('unmade')])
      await open.run([{ do: 'endSend', key: keyOf('unmade') }])
      const target = { key: keyOf('erased') }
      for (const [dryRun, states] of [
        [true, 1],
        [false, 1],
        [false, 0],
      ] as const)
        assert.equal((await erase(open, target, dryRun)).states, states)
      await open.run([{ do: 'endSend', ...target, rest: sent('erased', { reference: 'erased' }).expectation }])
      assert.deepEqual(await keptOf(open), [])
      assert.deepEqual(await open.run([reserve('erased'), reserve('unmade')]), ['known', 'new'])
    },
  },
]
