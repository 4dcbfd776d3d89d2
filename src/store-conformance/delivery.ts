/** Admission and delivery of many events at once: order, leases, settlements. The interleavings cover the rest. */
import assert from 'node:assert/strict'
import { MAX_SETTLED, MAX_WAITING } from '../messages/record.ts'
import type { MessageStore } from '../inbox/store.ts'
import {
  admit,
  admitting,
  claim,
  DEAD,
  keyOf,
  LONG_MS,
  loneSample,
  namesOf,
  sample,
  samplesOf,
  settleAll,
  settling,
} from './samples.ts'
import { claimOne, itemsOf, PAGE, passed, recordOf, until, type ConformanceCase } from './suite.ts'

/** Claims and settles everything due. Returns the names in order of the claims. */
export async function dispatchAll(open: MessageStore<object>): Promise<readonly (string | undefined)[]> {
  const names: (string | undefined)[] = []
  for (;;) {
    const { claims } = await claim(open)
    if (claims.length === 0) return names
    names.push(...namesOf(claims))
    await settleAll(open, claims)
  }
}

const SETTLED = { unsettled: 0, deadLetters: 0 }

export const ADMISSION: readonly ConformanceCase[] = [
  {
    name: 'an event of no message has no order, is never late, and makes no latest state',
    async run({ open }) {
      const [a, b] = [loneSample('a'), loneSample('b')]
      assert.deepEqual(await open.run([]), [])
      assert.deepEqual(await admit(open, [b, a, b]), ['new', 'new', 'duplicate'])
      const { claims } = await claim(open)
      assert.deepEqual(
        claims.map(({ id, late }) => `${id} ${late}`).toSorted(),
        [`${a.id} false`, `${b.id} false`].toSorted(),
      )
      assert.equal((await recordOf(open, a.messageKey))?.latest, undefined)
    },
  },
  {
    name: 'a batch of many messages, some leased as they are admitted: each event runs once',
    async run({ open }) {
      for (const at of [1, 2, 3]) {
        const batch = Array.from({ length: 200 }, (_, index) =>
          sample({ message: `m${index % 150}`, at: at * 1_000 + index }),
        )
        const forMs = at > 1 ? LONG_MS : undefined
        const answers = await open.run(batch.map((event) => admitting(event, forMs)))
        assert.deepEqual(new Set(answers.map(({ admission }) => admission)), new Set(['new']))
        const leased = answers.flatMap(({ granted }, index) => {
          const event = batch[index]
          return granted === undefined || event === undefined
            ? []
            : [settling({ ...event, ...granted, expected: undefined })]
        })
        assert.equal(leased.length, at > 1 ? 150 : 0, 'the first event of each message, if a lease was asked for')
        await open.run(leased)
        assert.equal((await dispatchAll(open)).length + leased.length, 200)
      }
      assert.deepEqual(await open.counts(), SETTLED)
    },
  },
  {
    name: 'runs as many reports of one message in order as a record may hold, each once; the next becomes a dead letter',
    async run({ open }) {
      const reports = Array.from({ length: MAX_WAITING }, (_, index) => sample({ at: 1 + index }))
      // Newest first, so that only their order tells how they run.
      for (let from = 0; from < reports.length; from += 100)
        await admit(open, reports.toReversed().slice(from, from + 100))
      assert.deepEqual(await open.counts(), { unsettled: MAX_WAITING, deadLetters: 0 })
      const beyond = sample({ at: MAX_WAITING + 1 })
      assert.deepEqual(await admit(open, [beyond, beyond]), ['crowded', 'duplicate'])
      const [letter] = await itemsOf(open, { of: 'deadLetters', ...PAGE })
      assert.equal(letter?.id, beyond.id)
      assert.match(letter.error, /message_crowded/)
      assert.deepEqual(new Set(await admit(open, reports.slice(500, 600))), new Set(['duplicate']))
      assert.deepEqual(
        await dispatchAll(open),
        reports.map(({ record }) => record.report?.status),
      )
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 1 })
      assert.equal((await recordOf(open, keyOf('m')))?.latest?.record.report?.status, `m-${MAX_WAITING + 1}`)
    },
  },
  {
    name: 'an event comes again after so many of its message that its identity was forgotten, but not its payload',
    async run({ open }) {
      const first = sample()
      await admit(open, [first])
      await dispatchAll(open)
      const others = Array.from({ length: MAX_SETTLED }, (_, index) => sample({ at: 2 + index }))
      await admit(open, others)
      await open.run([{ do: 'erase', key: first.messageKey, ids: others.map(({ id }) => id), dryRun: false }])
      assert.deepEqual(await admit(open, [first]), ['new'])
      const { id, raw } = await claimOne(open)
      assert.deepEqual([id, Buffer.from(raw)], [first.id, first.raw])
      const listed = await itemsOf(open, { of: 'events', ...PAGE, id })
      assert.equal(listed.length, 1, 'it is listed once')
    },
  },
]

export const DELIVERY: readonly ConformanceCase[] = [
  {
    name: 'returns due messages up to the limit, longest waiting first; excluded messages hide no others, and stay due',
    async run({ open }) {
      for (const message of ['c', 'a', 'b', 'd', 'e']) {
        await admit(open, [sample({ message })])
        await passed(20)
      }
      const exclude = new Set(['c', 'a', 'b'].map(keyOf))
      assert.deepEqual(namesOf((await claim(open, { exclude, limit: 1 })).claims), ['d-1'])
      assert.deepEqual(namesOf((await claim(open, { limit: 2 })).claims), ['c-1', 'a-1'])
      assert.deepEqual(namesOf((await claim(open)).claims), ['b-1', 'e-1'])
      const { claims, nextInMs = 0 } = await claim(open)
      assert.deepEqual(claims, [])
      assert.ok(nextInMs > 0 && nextInMs <= LONG_MS, `the first lease ends in ${nextInMs} ms`)
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
      let left = events.length - claims.length
      await until('each of the others runs once', async () => (left -= (await dispatchAll(open)).length) <= 0)
      assert.equal(left, 0)
      assert.deepEqual(await open.counts(), SETTLED)
    },
  },
  {
    name: 'an event that arrives or becomes due while several callers claim is found by the next claim of any caller',
    async run({ open, openAnother, capabilities }) {
      const other = capabilities.shared ? await openAnother() : open
      async function dispatchSome(caller: MessageStore<object>): Promise<void> {
        for (let times = 0; times < 8; times += 1) await settleAll(caller, (await claim(caller, { limit: 5 })).claims)
      }
      for (let round = 0; round < 20; round += 1) {
        const messages = Array.from({ length: 20 }, (_, index) => `m${round}-${index}`)
        await admit(
          open,
          messages.map((message) => sample({ message })),
        )
        await Promise.all([
          dispatchSome(open),
          dispatchSome(other),
          ...messages.map(async (message) => admit(open, [sample({ message, at: 2 })])),
        ])
        await dispatchAll(other)
        assert.deepEqual(await open.counts(), SETTLED)
      }
    },
  },
  {
    name: 'an event whose lease has ended is due again, with a greater token; the token before settles nothing',
    async run({ open, onWorkCalls }) {
      await admit(open, [sample()])
      const before = await claim(open, { leaseForMs: 1 })
      const notified = onWorkCalls()
      await passed(20)
      const [again] = (await claim(open)).claims
      assert.deepEqual([before.claims[0]?.attempt, again?.attempt], [1, 2])
      assert.ok(again && again.token > (before.claims[0]?.token ?? Infinity), 'its token is greater')
      assert.deepEqual(await settleAll(open, before.claims), [false])
      assert.deepEqual(await settleAll(open, [again]), [true])
      assert.ok(onWorkCalls() >= notified)
    },
  },
  {
    name: 'an event that waits for an earlier step is due when its wait ends, and delays no other message',
    async run({ open }) {
      await admit(open, [sample({ awaits: 1, reorderWaitMs: 200 }), sample({ message: 'other' })])
      const { claims, nextInMs = Infinity } = await claim(open)
      assert.deepEqual(namesOf(claims), ['other-1'])
      assert.ok(nextInMs <= 200, `it is due in ${nextInMs} ms`)
      await until('its wait ends', async () => namesOf((await claim(open)).claims).includes('m-1'))
    },
  },
  {
    name: 'settles many at once and answers for each; a token that is not the last one changes nothing',
    async run({ open }) {
      await admit(open, samplesOf(60))
      const { claims } = await claim(open)
      const outcomes = [{ outcome: 'done' }, DEAD, { outcome: 'retry', inMs: 0 }] as const
      const settlements = claims.map((claimed, index) => {
        const { token } = claimed
        const given = index % 4 === 3 ? { ...claimed, token: token + 1_000 } : claimed
        return settling(given, outcomes[index % 4])
      })
      const answers = await open.run(settlements)
      assert.deepEqual(
        answers.map(({ held }) => held),
        claims.map((_, index) => index % 4 !== 3),
      )
      assert.deepEqual(await open.counts(), { unsettled: 30, deadLetters: 15 })
      assert.equal((await dispatchAll(open)).length, 15)
      await settleAll(
        open,
        claims.filter((_, index) => index % 4 === 3),
      )
      assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 15 })
    },
  },
  {
    name: 'answers when the next event of the message can be leased',
    async run({ open }) {
      await admit(open, [sample({ at: 1 })])
      const first = await claimOne(open)
      await admit(open, [sample({ at: 2 })])
      const [settled] = await open.run([settling(first)])
      assert.deepEqual(settled, { held: true, nextInMs: 0 })
      const second = await claimOne(open)
      const [{ nextInMs = 0 } = {}] = await open.run([settling(second, { outcome: 'retry', inMs: LONG_MS })])
      assert.ok(nextInMs > LONG_MS - 60_000 && nextInMs <= LONG_MS, `it is due in ${nextInMs} ms`)
    },
  },
]
