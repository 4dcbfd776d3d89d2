/**
 * Builds the store that the receiver uses from the decisions and a runner that reads and writes records. Each page of its lists
 * examines a bounded number of records.
 */
import type { Retention } from '../../messages/retention.ts'
import type { OpenStore, KeptEvent } from '../store.ts'
import { createClaim, type ClaimingOptions } from './claiming.ts'
import { createEventVerbs, andThen } from './commands.ts'
import { createRetentionVerbs } from './retention.ts'
import { createSendVerbs } from './sends.ts'
import { encodeExpectation, isUsedReference } from '../../messages/expected.ts'
import { isMeant } from '../lists.ts'
import type { Indexes, Payload, ScannedEvent, ScannedRecord } from '../record-store.ts'
import { deadLetterOf, eventOf, reportsOf } from './answers.ts'

interface OpenStoreOptions extends ClaimingOptions {
  readonly retention: Retention
}

/** The part of an open store that is the same for every engine. */
export type Verbs = Omit<Required<OpenStore>, Added> & Pick<OpenStore, Exclude<Added, 'contextFor'>>
type Added =
  'latestNowMs' | 'notifiesRemaining' | 'settleLingerMs' | 'eraseTraces' | 'isHeld' | 'workers' | 'contextFor'

export function createOpenStore(options: OpenStoreOptions): Verbs {
  const { runner, indexes, retention } = options
  return {
    ...createEventVerbs(options),
    claim: createClaim(options),
    ...createSendVerbs({ runner, indexes }),
    ...createListingVerbs(indexes),
    ...createRetentionVerbs({ runner, indexes, retention }),
    counts: indexes.counts,
    close: indexes.close,
  }
}

function createListingVerbs(indexes: Indexes): Pick<Verbs, 'events' | 'deadLetters' | 'kept'> {
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
  if (send === undefined || isUsedReference(send.expectation)) return [...events, ...reports]
  const raw = encodeExpectation(send.expectation)
  return [...events, ...reports, { messageKey: key, id: key, atMs: send.sentAtMs, record: undefined, raw }]
}
