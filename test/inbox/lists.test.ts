/** Filters of the list of events beyond those of store-conformance/listing.ts: late events, and events with unknown fields. */
import { expect, test } from 'vitest'
import type { EventFilter } from '../../src/inbox/store.ts'
import type { StoredEvent } from '../../src/messages/views.ts'
import { matches } from '../../src/inbox/lists.ts'
import { sample } from '../../src/store-conformance/samples.ts'

const AT_MS = 1_800_000_000_000
const { record } = sample({ message: 'm' })

function event(more: Partial<StoredEvent> = {}): StoredEvent {
  const none = { admittedAtMs: undefined, dueMs: undefined, endedAtMs: undefined, error: undefined, raw: undefined }
  return { id: 'id', state: 'due', atMs: AT_MS, late: false, attempts: 0, order: undefined, record, ...none, ...more }
}

test.each<readonly [EventFilter, StoredEvent, boolean]>([
  [{}, event({ record: undefined, atMs: undefined }), true],
  [{ types: ['late'] }, event({ late: true }), true],
  [{ types: ['late'] }, event(), false],
  [{ channel: 'sms' }, event({ record: undefined }), false],
  [{ toMs: AT_MS }, event({ atMs: undefined }), false],
])('%j', (filter, one, expected) => {
  expect(matches(filter, one)).toBe(expected)
})
