/** The list of events: newest first, each once, with what the store still knows of them and nothing that it does not. */
import assert from 'node:assert/strict'
import type { EventRecord, Report } from '../inbox/record.ts'
import type { EventFilter, EventState, NewEvent, OpenStore, StoredEvent } from '../inbox/store.ts'
import { admit, allOf, claim, digestOf, LEASE_MS, list, loneSample, sample, settlementOf, START_MS } from './samples.ts'
import type { ConformanceCase } from './suite.ts'

async function listOne(open: OpenStore<object>, { id, messageKey }: NewEvent): Promise<StoredEvent> {
  const { items } = await list(open, { messageKey })
  const found = items.find((item) => item.id === id)
  assert.ok(found, 'the event is listed')
  return found
}

/** Takes each event in its own second and hands it over in the same. */
async function comeOneByOne(open: OpenStore<object>, names: readonly string[]): Promise<readonly NewEvent[]> {
  const events: NewEvent[] = []
  for (const [index, name] of names.entries()) {
    const nowMs = START_MS + index * 1_000
    const plain = sample({ message: name, name })
    const event = { ...plain, record: { ...plain.record, receivedAtMs: nowMs } }
    await admit(open, [event], nowMs)
    const { claims } = await claim(open, { nowMs })
    await open.settle(
      claims.map((claimed) => settlementOf(claimed, { outcome: 'done' })),
      nowMs,
    )
    events.push(event)
  }
  return events
}

/** More than clocks of one machine are apart. */
const SPACING_MS = 10_000

/** One after the other, far apart, of all types, projects, channels, carriers and recipients. None is handed over. */
async function comeOfAllKinds(open: OpenStore<object>): Promise<readonly NewEvent[]> {
  const events = Array.from({ length: 14 }, (_, index): NewEvent => {
    const nowMs = START_MS + index * SPACING_MS
    const name = `kind-${index}`
    const { record, ...plain } =
      index === 5 || index > 11 ? loneSample(name) : sample({ message: name, name, gapUntilMs: nowMs })
    const { report, ...rest } = record
    const all = { ...rest, receivedAtMs: nowMs, ...(index % 4 === 1 && { project: 'Other "Shop"' }) }
    if (index === 6) return { ...plain, record: { ...all, problem: 'not_json' } }
    // What no callback brings.
    if (index > 11)
      return { ...plain, record: { ...all, kind: 'status', [index === 12 ? 'overdue' : 'unknownSend']: true } }
    if (report === undefined) return { ...plain, record: all }
    const said: Report = {
      ...report,
      type: index % 3 === 0 ? 'message.sent' : 'message.failed',
      channel: index % 2 === 0 ? 'sms' : 'chat',
      recipient: index % 5 === 0 ? '+15550100' : '+15550199',
      ...(index > 7 && { carrier: index % 2 === 0 ? 'carrierA' : 'carrierB' }),
    }
    return { ...plain, record: { ...all, report: said } }
  })
  for (const event of events) await admit(open, [event], event.record.receivedAtMs)
  return events
}

function typeOf({ report, kind }: EventRecord): string | undefined {
  return report?.type ?? kind
}

export const LISTING: readonly ConformanceCase[] = [
  {
    name: 'lists nothing of a store in which nothing is, and none for a message or an identity that it does not know',
    needs: 'events',
    async run({ open }) {
      assert.deepEqual(await list(open), { items: [] })
      await admit(open, [sample()])
      assert.deepEqual(await list(open, { messageKey: digestOf('nothing') }), { items: [] })
      assert.deepEqual(await list(open, { id: digestOf('nothing') }), { items: [] })
    },
  },
  {
    name: 'lists what came, the newest first, and pages through it, each once',
    needs: 'events',
    async run({ open }) {
      const names = Array.from({ length: 7 }, (_, index) => `m${index}`)
      const expected = (await comeOneByOne(open, names)).map(({ id }) => id).reverse()
      const { items, next } = await list(open)
      assert.deepEqual(
        items.map(({ id }) => id),
        expected,
      )
      assert.equal(next, undefined)
      const paged = await allOf(async (after) => {
        const page = await list(open, { after, limit: 3 })
        assert.ok(page.items.length <= 3)
        return page
      })
      assert.deepEqual(
        paged.map(({ id }) => id),
        expected,
      )
    },
  },
  {
    name: 'says of an event that it is due, leased, to be tried again, dead, due again, settled',
    needs: 'events',
    async run({ open }) {
      const event = sample()
      await admit(open, [event])
      const due = await listOne(open, event)
      assert.deepEqual(
        [due.state, due.attempts, due.late, due.dueMs, due.endedAtMs, due.error],
        ['due', 0, false, START_MS, undefined, undefined],
      )
      assert.deepEqual([due.record, due.raw && Buffer.from(due.raw)], [event.record, event.raw])

      const [claimed] = (await claim(open)).claims
      assert.ok(claimed)
      const leased = await listOne(open, event)
      assert.deepEqual([leased.state, leased.attempts, leased.dueMs], ['leased', 1, START_MS + LEASE_MS])

      const dueMs = START_MS + 5_000
      await open.settle([settlementOf(claimed, { outcome: 'retry', dueMs, error: 'no' })], START_MS)
      const again = await listOne(open, event)
      assert.deepEqual([again.state, again.attempts, again.dueMs], ['due', 1, dueMs])

      const [second] = (await claim(open, { nowMs: dueMs })).claims
      assert.ok(second)
      await open.settle([settlementOf(second, { outcome: 'dead', error: 'the reason' })], dueMs + 1)
      const dead = await listOne(open, event)
      assert.deepEqual(
        [dead.state, dead.attempts, dead.dueMs, dead.endedAtMs, dead.error],
        ['dead', 2, undefined, dueMs + 1, 'the reason'],
      )
      assert.deepEqual([dead.record, dead.raw && Buffer.from(dead.raw)], [event.record, event.raw])

      assert.equal(await open.resolve(event.id, 'replay', dueMs + 2), true)
      assert.equal((await listOne(open, event)).state, 'due')
      const [third] = (await claim(open, { nowMs: dueMs + 2 })).claims
      assert.ok(third)
      await open.settle([settlementOf(third, { outcome: 'done' })], dueMs + 3)
      const { state, dueMs: none, error } = await listOne(open, event)
      assert.deepEqual([state, none, error], ['settled', undefined, undefined])
      assert.equal((await list(open)).items.length, 1)
    },
  },
  {
    name: 'finds the events of one message, and one by its identity, among all others',
    needs: 'events',
    async run({ open }) {
      const mine = [sample({ message: 'mine', at: 1 }), sample({ message: 'mine', at: 2 })]
      const lone = loneSample('payment')
      await admit(open, [sample({ message: 'a' }), ...mine, lone, sample({ message: 'b' })])
      const [first, second] = mine
      assert.ok(first && second)
      const { items } = await list(open, { messageKey: first.messageKey })
      assert.deepEqual(new Set(items.map(({ id }) => id)), new Set([first.id, second.id]))
      assert.equal(items.length, 2)
      for (const event of [...mine, lone]) {
        const found = await list(open, { id: event.id })
        assert.deepEqual(
          found.items.map(({ id, record }) => [id, record?.report?.status]),
          [[event.id, event.record.report?.status]],
        )
      }
    },
  },
  {
    name: 'filters by what the records say, by state and by time; each is on one page, whatever its size',
    needs: 'events',
    async run({ open }) {
      const events = await comeOfAllKinds(open)
      const expected = (isMeant: (sample: NewEvent) => boolean): readonly string[] =>
        events
          .filter(isMeant)
          .map(({ id }) => id)
          .reverse()
      const cases: readonly (readonly [EventFilter, (sample: NewEvent) => boolean])[] = [
        [{ types: ['message.failed'] }, ({ record }) => record.report?.type === 'message.failed'],
        [
          { types: ['message.sent', 'payment'] },
          ({ record }) => typeOf(record) === 'message.sent' || typeOf(record) === 'payment',
        ],
        [{ types: ['unrecognized'] }, ({ record }) => record.problem !== undefined],
        [{ types: ['message.overdue'] }, ({ record }) => record.overdue === true],
        [
          { types: ['send.unknown', 'message.failed'] },
          ({ record }) => record.unknownSend === true || record.report?.type === 'message.failed',
        ],
        [{ project: 'Other "Shop"' }, ({ record }) => record.project === 'Other "Shop"'],
        [{ channel: 'chat' }, ({ record }) => record.report?.channel === 'chat'],
        [{ carrier: 'carrierB' }, ({ record }) => record.report?.carrier === 'carrierB'],
        [{ about: ['15550100', '+15550100'] }, ({ record }) => record.report?.recipient === '+15550100'],
        [{ about: ['kind-3'] }, ({ record }) => record.report?.messageId === 'kind-3'],
        // In a report's JSON, and not its recipient.
        [{ about: ['sms', '15550100'] }, () => false],
        [
          { project: 'My Shop', channel: 'chat', types: ['message.failed'] },
          ({ record }) =>
            record.project === 'My Shop' &&
            record.report?.channel === 'chat' &&
            record.report.type === 'message.failed',
        ],
        [
          { fromMs: START_MS + 4 * SPACING_MS, toMs: START_MS + 9 * SPACING_MS },
          ({ record }) =>
            record.receivedAtMs >= START_MS + 4 * SPACING_MS && record.receivedAtMs < START_MS + 9 * SPACING_MS,
        ],
        [
          { fromMs: START_MS + 4 * SPACING_MS, types: ['message.failed'] },
          ({ record }) => record.receivedAtMs >= START_MS + 4 * SPACING_MS && record.report?.type === 'message.failed',
        ],
        [{ toMs: START_MS + 5 * SPACING_MS }, ({ record }) => record.receivedAtMs < START_MS + 5 * SPACING_MS],
        [{ toMs: START_MS }, () => false],
        [{ fromMs: START_MS + 1_000_000 }, () => false],
        [{ states: ['settled', 'dead'], channel: 'chat' }, () => false],
        [{ states: ['due'], channel: 'chat' }, ({ record }) => record.report?.channel === 'chat'],
      ]
      for (const [filter, isMeant] of cases) {
        for (const limit of [2, 100]) {
          const found = await allOf((after) => list(open, { ...filter, after, limit }))
          assert.deepEqual(
            found.map(({ id }) => id),
            expected(isMeant),
            `by ${JSON.stringify(filter)}`,
          )
        }
      }
    },
  },
  {
    name: 'filters by state as it changes, and one message by any filter',
    needs: 'events',
    async run({ open }) {
      const [first, second, third] = [sample({ message: 'a' }), sample({ message: 'b' }), sample({ message: 'c' })]
      await admit(open, [first, second, third])
      const inState = async (state: EventState): Promise<readonly string[]> =>
        (await list(open, { states: [state] })).items.map(({ id }) => id)
      assert.deepEqual(new Set(await inState('due')), new Set([first.id, second.id, third.id]))
      const { claims } = await claim(open)
      assert.equal((await inState('leased')).length, 3)
      assert.deepEqual(await inState('due'), [])
      const settlements = claims.flatMap((claimed) => {
        if (claimed.id === first.id) return [settlementOf(claimed, { outcome: 'dead', error: 'no' })]
        return claimed.id === second.id ? [settlementOf(claimed, { outcome: 'unbegun', dueMs: START_MS })] : []
      })
      await open.settle(settlements, START_MS)
      assert.deepEqual(await inState('dead'), [first.id])
      assert.deepEqual(await inState('due'), [second.id])
      assert.deepEqual(await inState('leased'), [third.id])
      assert.deepEqual(await inState('settled'), [])
      const { messageKey, id } = first
      assert.equal((await list(open, { messageKey, states: ['dead'] })).items.length, 1)
      assert.equal((await list(open, { messageKey, states: ['due'] })).items.length, 0)
      assert.equal((await list(open, { messageKey, id })).items.length, 1)
      assert.equal((await list(open, { id, states: ['dead'], channel: 'sms' })).items.length, 1)
      assert.equal((await list(open, { id, channel: 'chat' })).items.length, 0)
    },
  },
]
