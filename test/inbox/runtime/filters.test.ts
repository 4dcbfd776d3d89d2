/** The meaning of a filter of the list of events. */
import { expect, test } from 'vitest'
import type { EventFilter, StoredEvent } from '../../../src/inbox/store.ts'
import { isMeant } from '../../../src/inbox/filters.ts'
import { loneSample, sample } from '../../../src/store-conformance/samples.ts'

const AT_MS = 1_800_000_000_000
const { record } = sample({ message: 'm' })
const { record: lone } = loneSample('payment')

function event(more: Partial<StoredEvent> = {}): StoredEvent {
  const none = { admittedAtMs: undefined, dueMs: undefined, endedAtMs: undefined, error: undefined, raw: undefined }
  return { id: 'id', state: 'due', atMs: AT_MS, late: false, attempts: 0, order: undefined, record, ...none, ...more }
}

const { report } = record
const failed = report && { ...record, report: { ...report, recipient: '+15550100', carrier: 'carrierB' as const } }

test.each<readonly [EventFilter, StoredEvent, boolean]>([
  [{}, event({ record: undefined, atMs: undefined }), true],
  [{ types: ['message.delivered'] }, event(), true],
  [{ types: ['message.failed'] }, event(), false],
  [{ types: ['late'] }, event({ late: true }), true],
  [{ types: ['late'] }, event(), false],
  [{ types: ['payment'] }, event({ record: lone }), true],
  [{ types: ['unrecognized'] }, event({ record: { ...lone, problem: 'not_json' } }), true],
  [{ types: ['send.overdue'] }, event({ record: { ...lone, overdue: true } }), true],
  [{ types: ['send.unknown'] }, event({ record: { ...lone, unknownSend: true } }), true],
  [{ project: 'My Shop' }, event(), true],
  [{ project: 'My' }, event(), false],
  [{ channel: 'sms' }, event(), true],
  [{ channel: 'sms' }, event({ record: lone }), false],
  [{ channel: 'sms' }, event({ record: undefined }), false],
  [{ carrier: 'carrierB' }, event({ record: failed }), true],
  [{ about: ['+15550100'] }, event({ record: failed }), true],
  [{ about: ['15550100', 'sms'] }, event({ record: failed }), false],
  [{ about: ['m'] }, event(), true],
  [{ states: ['dead', 'due'] }, event(), true],
  [{ states: ['dead'] }, event(), false],
  [{ fromMs: AT_MS, toMs: AT_MS + 1 }, event(), true],
  [{ fromMs: AT_MS + 1 }, event(), false],
  [{ toMs: AT_MS }, event(), false],
  [{ toMs: AT_MS }, event({ atMs: undefined }), false],
  [{ project: 'My Shop', channel: 'chat' }, event(), false],
])('%j', (filter, one, expected) => {
  expect(isMeant(filter, one)).toBe(expected)
})
