/** Lists events, dead letters and all personal data for observers. Each page examines a bounded number of records. */
import { encodeExpectation } from '../../messages/expected.ts'
import { isMeant } from '../filters.ts'
import type { Indexes, Payload, ScannedEvent, ScannedRecord } from '../record-store.ts'
import type { KeptEvent, OpenStore } from '../store.ts'
import { deadLetterOf, eventOf, reportsOf } from './answers.ts'
import { andThen } from './commands.ts'

type Verbs = Pick<OpenStore, 'deadLetters'> & Required<Pick<OpenStore, 'events' | 'kept'>>

export function createListingVerbs(indexes: Indexes): Verbs {
  return {
    events(page) {
      const { after, messageKey, id, limit, ...filter } = page
      const isWanted = (one: ScannedEvent): boolean => {
        const event = eventOf(one)
        return event !== undefined && (id === undefined || event.id === id) && isMeant(page, event)
      }
      const scan = { after, limit, key: messageKey, id, filter, isMeant: isWanted }
      return andThen(indexes.scanEvents(scan), ({ items, next, lookedBackToMs }) => ({
        items: items.flatMap((one) => eventOf(one) ?? []),
        ...(next !== undefined && { next }),
        ...(lookedBackToMs !== undefined && { lookedBackToMs }),
      }))
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
  const reports = reportsOf(record).map(({ id, record: report }): KeptEvent => {
    return { messageKey: key, id, atMs: report.receivedAtMs, record: report, raw: undefined }
  })
  const { send } = record
  if (send === undefined) return [...events, ...reports]
  const raw = encodeExpectation(send.expectation)
  return [...events, ...reports, { messageKey: key, id: key, atMs: send.sentAtMs, record: undefined, raw }]
}
