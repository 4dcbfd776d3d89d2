/** The lists of a store, as pages of what its engine finds. */
import { isSentTo, matches, MAX_SENDS_EXAMINED } from '../inbox/lists.ts'
import type { Awaitable, EventsQuery, ItemOf, MessageStore, Page, Query, SendsQuery } from '../inbox/store.ts'
import {
  deadLetterOf,
  eventOf,
  keptIn,
  sendIn,
  type KeptEvent,
  type StoredDeadLetter,
  type StoredEvent,
  type StoredExpectation,
} from '../messages/views.ts'
import { andThen } from '../runtime/values.ts'
import type { Indexes, ScannedEvent, ScannedRecord } from './engine.ts'

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

/** Makes the `scan` of a store. Synchronous if the scans are. */
export function createScan(scans: Scans): MessageStore['scan'] {
  function scan<Q extends Query>(query: Q): Awaitable<Page<ItemOf<Q>>>
  function scan(query: Query): Awaitable<Page<ItemOf<Query>>> {
    switch (query.of) {
      case 'events':
        return eventsPage(scans, query)
      case 'deadLetters':
        return andThen(scans.scanDeadLetters({ ...query, id: query.id }), (page) =>
          pageOf(page, (one): readonly StoredDeadLetter[] => listOf(deadLetterOf(one))),
        )
      case 'sends':
        return query.to === undefined
          ? andThen(scans.scanSends({ ...query, newestFirst: false }), (page) => pageOf(page, sendsIn))
          : sentTo(scans, query, query.to)
      case 'kept':
        return andThen(scans.scanRecords(query), (page) =>
          pageOf(page, ({ key, record, payloads }): readonly KeptEvent[] => keptIn(key, record, payloads)),
        )
    }
  }
  return scan
}

function eventsPage(scans: Scans, query: EventsQuery): Awaitable<Page<StoredEvent>> {
  const { of: _, after, limit, key, id, ...filter } = query
  const isWanted = (one: ScannedEvent): boolean => {
    const event = eventOf(one)
    return event !== undefined && (id === undefined || event.id === id) && matches(filter, event)
  }
  const found = scans.scanEvents({ after, limit, key, id, filter, isWanted })
  return andThen(found, (page) => pageOf(page, (one): readonly StoredEvent[] => listOf(eventOf(one))))
}

/** The index of sends has no recipients, so each page examines a bounded number. */
function sentTo(scans: Scans, query: SendsQuery, to: readonly string[]): Awaitable<Page<StoredExpectation>> {
  const { after, limit, fromMs, toMs } = query
  const look = { after, limit: MAX_SENDS_EXAMINED, fromMs, toMs, newestFirst: true }
  return andThen(scans.scanSends(look), ({ items: looked, next: end }) => {
    const items: StoredExpectation[] = []
    for (const [index, one] of looked.entries()) {
      const [found] = sendsIn(one)
      if (found === undefined || !isSentTo(to, found.expectation)) continue
      if (items.length === limit) return { items, next: looked[index - 1]?.place ?? '' }
      items.push(found)
    }
    const last = looked.at(-1)?.record.send?.sentAtMs
    if (end === undefined || last === undefined) return { items }
    return { items, next: end, lookedBackToMs: last }
  })
}

function sendsIn({ key, record }: ScannedRecord): readonly StoredExpectation[] {
  return listOf(sendIn(key, record))
}

function listOf<T>(one: T | undefined): readonly T[] {
  return one === undefined ? [] : [one]
}

function pageOf<Found, T>({ items, next, lookedBackToMs }: Page<Found>, read: (found: Found) => readonly T[]): Page<T> {
  return {
    items: items.flatMap(read),
    ...(next !== undefined && { next }),
    ...(lookedBackToMs !== undefined && { lookedBackToMs }),
  }
}
