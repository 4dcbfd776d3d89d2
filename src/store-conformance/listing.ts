/** Tests the list of events: newest first, each once, by any filter. The interleavings cover the fields. */
import assert from 'node:assert/strict'
import type { EventRecord, Report } from '../messages/event-record.ts'
import type { EventsQuery, MessageStore } from '../inbox/store.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { StoredEvent } from '../messages/views.ts'
import { admit, claim, DEAD, digestOf, RECEIVED_MS, sample, settleAll } from './samples.ts'
import { itemsOf, PAGE, passed, type ConformanceCase } from './suite.ts'

/** Between the events, so that no two are of the same time. */
const SPACING_MS = 5
const EVENTS = 14

type Filter = Partial<EventsQuery>

async function listed(open: MessageStore<object>, filter: Filter, limit = 100): Promise<readonly StoredEvent[]> {
  return itemsOf(open, { of: 'events', after: undefined, limit, ...filter })
}

/** Events that are not reports and have no message, by index. */
const OTHERS = new Map<number, Partial<EventRecord>>([
  [2, { kind: 'payment' }],
  [5, { problem: 'not_json' }],
  // Events without a callback.
  [10, { overdue: true }],
  [13, { unknownSend: true }],
])

/** Events of all types, projects, channels, carriers and recipients, in order of arrival. */
function eventsOfAllKinds(): readonly NewEvent[] {
  return Array.from({ length: EVENTS }, (_, index): NewEvent => {
    const receivedAtMs = RECEIVED_MS + index * SPACING_MS
    const name = `kind-${index}`
    const { record, ...event } = sample({ message: name, name })
    const { report, ...rest } = record
    const common = { ...rest, receivedAtMs, project: index % 4 === 1 ? 'Other "Shop"' : 'My Shop' }
    const other = OTHERS.get(index)
    if (other !== undefined || report === undefined)
      return { ...event, messageKey: event.id, order: '', record: { ...common, ...other } }
    const kind: Report = {
      ...report,
      type: index % 3 === 0 ? 'message.sent' : 'message.failed',
      channel: index % 2 === 0 ? 'sms' : 'chat',
      recipient: index % 5 === 0 ? '+15550100' : '+15550199',
      ...(index > 7 && { carrier: index % 2 === 0 ? 'carrierA' : 'carrierB' }),
    }
    return { ...event, record: { ...common, report: kind } }
  })
}

const FILTERS: readonly Filter[] = [
  {},
  { types: ['message.sent', 'payment'] },
  { types: ['unrecognized', 'message.failed'] },
  { types: ['send.overdue', 'send.unknown'] },
  { project: 'Other "Shop"' },
  { channel: 'chat' },
  { carrier: 'carrierB' },
  { about: ['15550100', '+15550100'] },
  { about: ['kind-3'] },
  // `sms` occurs in the JSON of a report, but not as its recipient.
  { about: ['sms', '15550100'] },
  { states: ['due'] },
  { states: ['leased', 'dead'] },
  { states: ['dead', 'settled'] },
  { key: sample({ message: 'kind-4' }).messageKey },
  { id: sample({ name: 'kind-9' }).id },
]

/** The filters as the contract defines them, for the events above. */
function matches(filter: Filter, { id, state, atMs = 0, record }: StoredEvent): boolean {
  const { types, project, channel, carrier, about, states, fromMs = -Infinity, toMs = Infinity } = filter
  const { report, kind, problem, overdue, unknownSend } = record ?? {}
  const unreported = overdue ? 'send.overdue' : unknownSend ? 'send.unknown' : problem ? 'unrecognized' : kind
  const isOne = (wanted: readonly string[] | undefined, ...values: readonly (string | undefined)[]): boolean =>
    wanted === undefined || values.some((value) => value !== undefined && wanted.includes(value))
  return (
    isOne(types, report?.type ?? unreported) &&
    isOne(project === undefined ? undefined : [project], record?.project) &&
    isOne(channel === undefined ? undefined : [channel], report?.channel) &&
    isOne(carrier === undefined ? undefined : [carrier], report?.carrier) &&
    isOne(about, report?.messageId, report?.recipient) &&
    isOne(states, state) &&
    (filter.id === undefined || filter.id === id) &&
    (filter.key === undefined || report?.messageId === 'kind-4') &&
    atMs >= fromMs &&
    atMs < toMs
  )
}

/** Asserts the result of each filter, alone and combined with each of `others` that follows it. */
async function assertFiltered(
  open: MessageStore<object>,
  all: readonly StoredEvent[],
  filters: readonly Filter[],
  others: readonly Filter[] = filters,
) {
  for (const [index, one] of filters.entries())
    for (const [nth, other] of others.slice(index).entries())
      // Single filters with both page sizes, pairs alternately with one.
      for (const limit of one === other ? [2, 100] : [nth % 2 === 0 ? 2 : 100]) {
        const filter = { ...one, ...other }
        assert.deepEqual(
          (await listed(open, filter, limit)).map(({ id }) => id),
          all.filter((event) => matches(filter, event)).map(({ id }) => id),
          `by ${JSON.stringify(filter)}`,
        )
      }
}

export const LISTING: readonly ConformanceCase[] = [
  {
    name: 'newest first, each event on one page, by any two filters',
    async run({ open }) {
      assert.deepEqual(await open.scan({ of: 'events', ...PAGE }), { items: [] })
      const events = eventsOfAllKinds()
      for (const event of events) {
        await admit(open, [event])
        await passed(SPACING_MS)
      }
      const admitted = await listed(open, {})
      assert.deepEqual(
        admitted.map(({ id }) => id),
        events.map(({ id }) => id).toReversed(),
      )
      // Stores may list a settled event by another time, so test periods before any event is settled.
      const periods = [{ fromMs: admitted[9]?.atMs }, { toMs: admitted[4]?.atMs }]
      await assertFiltered(open, admitted, periods, [...periods, ...FILTERS])
      const { claims } = await claim(open)
      const share = (part: number) => claims.filter((_, index) => index % 3 === part)
      await settleAll(open, share(0), DEAD)
      await settleAll(open, share(1), { outcome: 'release', inMs: 0 })
      const all = await listed(open, {})
      // A store without an index of admissions lists an event by its last known time.
      for (const [index, { atMs = 0 }] of all.entries())
        assert.ok(atMs <= (all[index - 1]?.atMs ?? atMs), 'newest first')
      assert.equal(all.length, EVENTS)
      await assertFiltered(open, all, FILTERS)
      for (const unknown of [{ key: digestOf('nothing') }, { id: digestOf('nothing') }])
        assert.deepEqual(await listed(open, unknown), [])
    },
  },
]
