import type { EventRecord } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import {
  hasEvent,
  NEW_MESSAGE,
  packedIds,
  packMessage,
  settledAtMsOf,
  unpacked,
  type Message,
} from '../../../src/stores/memory/message.ts'

/** Every field that the record of a report can have. */
const FULL: Required<Omit<EventRecord, 'overdue' | 'unknownSend'>> = {
  project: 'Το μαγαζί μου',
  kind: 'status',
  timestamp: 1_700_000_000,
  timestampSource: 'payload',
  receivedAtMs: 1_700_000_000_123.5,
  proof: 'both',
  oddities: ['inexact_id', 'duplicate_key'],
  problem: 'not_json',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=value,other=1',
  report: {
    type: 'message.failed',
    shape: 'sms',
    messageId: 'a "quoted"\n\0 one, \ud83d, [half] of a pair',
    channel: 'sms',
    network: 'carrier-b',
    carrier: 'carrierB',
    recipient: '254711000000',
    status: 'expired',
    statusCode: 17,
    scheduled: false,
    failure: { kind: 'transient', resend: true, cause: 'expired', reason: 'weg für heute', code: '17' },
  },
}
const BARE: EventRecord = {
  project: undefined,
  kind: undefined,
  timestamp: 0,
  timestampSource: 'arrival',
  receivedAtMs: 0,
  proof: 'authKey',
}

function roundTrip(fields: Partial<Message>): Message {
  const message = { ...NEW_MESSAGE, key: 'key', ...fields }
  const text = packMessage(message, 1_700_000_000_123)
  expect(packedIds(text)).toEqual(message.settledIds)
  expect(settledAtMsOf(text)).toBe(1_700_000_000_123)
  for (const id of message.settledIds) expect(hasEvent(text, id)).toBe(true)
  const again = unpacked('key', text)
  expect(again).toEqual(message)
  return again
}

test('a message of no report comes back', () => {
  roundTrip({ settledIds: ['one'] })
})

test('a message comes back with all that is known of it, whatever is written there', () => {
  const finals = [
    { order: '1', record: { ...BARE, report: FULL.report } },
    { order: '3', record: FULL },
  ]
  const settledIds = ['"one"', 'two,', ']', 'three\n"four"\n', 'Το \ud83d', '']
  roundTrip({ settledIds, handed: '3', handedOpen: '2', steps: 5, latest: { order: '3', record: FULL, finals } })
  roundTrip({ settledIds, handed: '3', handedOpen: '', steps: 1, latest: { order: '4', record: BARE, finals } })
  roundTrip({ settledIds: ['x'], handed: '1', latest: { order: '1', record: FULL, finals: [] } })
})

test('what is absent stays absent', () => {
  const message = roundTrip({ settledIds: ['x'], handed: '1', latest: { order: '1', record: BARE, finals: [] } })
  expect(Object.keys(message.latest?.record ?? {})).not.toContain('problem')
})

test('only an identity that was settled is found, not what else looks like one', () => {
  const finals = [{ order: '3', record: FULL }]
  const message: Message = {
    ...NEW_MESSAGE,
    key: 'key',
    settledIds: ['three\n"four"\n', 'five", "six'],
    handed: '3',
    latest: { order: '3', record: FULL, finals },
  }
  const text = packMessage(message, 1_700_000_000_123)
  const others = ['', '3', '2', 'four', '"four"', 'three', 'five', 'six', 'sms', 'both', '1700000000123', 'not_json']
  for (const id of others) expect(hasEvent(text, id)).toBe(false)
})
