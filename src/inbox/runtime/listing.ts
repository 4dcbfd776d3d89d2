/** Lists for people: events, dead letters, and everything that may name a person. A page costs a bounded look. */
import { encodeExpectation } from '../expected.ts'
import { isFiltered, isMeant, MOST_LOOKED_AT } from '../filters.ts'
import type { Indexes, Payload, ScannedEvent, ScannedRecord } from '../record-store.ts'
import type { EventsAnswer, EventsPage, KeptEvent, OpenStore, StoredEvent } from '../store.ts'
import { andThen } from './and-then.ts'
import { deadLetterOf, eventOf, reportsOf } from './answers.ts'

type Verbs = Pick<OpenStore, 'deadLetters'> & Required<Pick<OpenStore, 'events' | 'kept'>>

export function createListingVerbs(indexes: Indexes): Verbs {
  return {
    events(page) {
      const { after, messageKey, id, limit, ...filter } = page
      const scan = { after, key: messageKey, id, filter, limit: isFiltered(filter) ? MOST_LOOKED_AT : limit }
      return andThen(indexes.scanEvents(scan), ({ items, next }) => pageOf(page, items, next))
    },
    deadLetters: (page) =>
      andThen(indexes.scanDeadLetters(page), ({ items, next }) => ({
        items: items.flatMap((one) => deadLetterOf(one) ?? []),
        ...(next !== undefined && { next }),
      })),
    kept: (page) =>
      andThen(indexes.scanRecords(page), ({ items, next }) => ({
        items: items.flatMap(keptIn),
        ...(next !== undefined && { next }),
      })),
  }
}

function pageOf(page: EventsPage, looked: readonly ScannedEvent[], end: string | undefined): EventsAnswer {
  const items: StoredEvent[] = []
  let last: string | undefined
  for (const one of looked) {
    const event = eventOf(one)
    if (event === undefined || !isMeant(page, event)) continue
    if (items.length === page.limit && last !== undefined) return { items, next: last }
    items.push(event)
    last = one.place
  }
  if (end === undefined) return { items }
  const oldest = looked.at(-1)
  return isFiltered(page) && oldest !== undefined
    ? { items, next: end, lookedBackToMs: oldest.atMs }
    : { items, next: end }
}

function keptIn({ key, record, payloads }: ScannedRecord): readonly KeptEvent[] {
  const events = payloads.map((payload: Payload): KeptEvent => {
    return {
      messageKey: key,
      id: payload.id,
      atMs: payload.record.receivedAtMs,
      record: payload.record,
      raw: payload.raw,
    }
  })
  const reports = reportsOf(record).map(({ id, record: said }): KeptEvent => {
    return { messageKey: key, id, atMs: said.receivedAtMs, record: said, raw: undefined }
  })
  const { send } = record
  if (send === undefined) return [...events, ...reports]
  const raw = encodeExpectation(send.expectation)
  return [...events, ...reports, { messageKey: key, id: key, atMs: send.sentAtMs, record: undefined, raw }]
}
