/** A record decodes to what was encoded, and a corrupt one never decodes in part. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeRecord, encodeRecord, endedAtMsIn } from '../../src/stores/codec.ts'
import type { EventRecord } from '../../src/messages/event-record.ts'
import type { MessageRecord } from '../../src/messages/record.ts'
import { anyRecord } from '../messages/records.ts'

test('any record decodes to what was encoded', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const encoded = encodeRecord(record)
      expect(decodeRecord(encoded)).toEqual(record)
      expect(endedAtMsIn(encoded)).toBe(record.settled.at(-1)?.endedAtMs ?? 0)
    }),
  )
})

test('text cut at any place is corrupt, and so is any other JSON', () => {
  fc.assert(
    fc.property(anyRecord, fc.nat(), (record, at) => {
      const encoded = encodeRecord(record)
      expect(decodeRecord(encoded.slice(0, at % encoded.length))).toBeUndefined()
    }),
  )
  for (const other of ['', 'no', 'null', '7', '"text"', '{}', '[]', '[2]', '[2,0,"one"]', '[2,0,0,"","",0,{},[]]'])
    expect(decodeRecord(other), other).toBeUndefined()
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(decodeRecord(json)).toBeUndefined()
    }),
  )
})

const FULL = {
  project: 'My Shop',
  kind: 'status',
  timestamp: 1_700_000_000,
  timestampSource: 'payload',
  receivedAtMs: 1_700_000_001_500,
  proof: 'both',
  report: {
    type: 'message.failed',
    shape: 'sms',
    messageId: 'm-1',
    channel: 'sms',
    network: 'Safaricom',
    carrier: 'carrierA',
    status: 'network_failure',
    recipient: '+254711000000',
    statusCode: 17,
    failure: { kind: 'transient', resend: true, cause: 'expired', reason: 'no answer', code: 'E7' },
    scheduled: false,
  },
  anomalies: ['unknown_word'],
  problem: 'damaged',
  traceparent: '00-trace',
  tracestate: 'vendor=value',
  overdue: true,
  unknownSend: true,
} satisfies EventRecord

const ORDER = '0017000000002000000000000event-1'
const OTHER = '0017000000001000000000000event-0'
const NOW_MS = 1_700_000_002_000

/** A record with every field. */
const SAMPLE: MessageRecord = {
  lease: { token: 4, untilMs: NOW_MS + 60_000, worker: 'w' },
  tokens: 4,
  dispatchedUpTo: ORDER,
  steps: 9,
  latest: { order: ORDER, record: FULL, finals: [{ order: ORDER, record: FULL }] },
  waiting: [
    {
      id: 'event-1',
      order: ORDER,
      awaits: 1,
      dueMs: NOW_MS,
      attempts: 2,
      token: 4,
      late: true,
      replay: true,
      admittedAtMs: NOW_MS,
    },
  ],
  dead: [
    {
      id: 'event-2',
      order: OTHER,
      awaits: 0,
      dueMs: NOW_MS,
      attempts: 3,
      token: 2,
      late: false,
      replay: false,
      admittedAtMs: NOW_MS,
      diedAtMs: NOW_MS + 1,
    },
  ],
  settled: [{ id: 'event-0', endedAtMs: NOW_MS, attempts: 1, late: true }],
  send: undefined,
}

/** As this package has stored it. A change of the code must not change it: stored records would be misread. */
const STORED = `[2,1700000002000,4,null,9,["event-0",0,3],
[[[null,0,3,1,1700000002000,2,4,1700000002000]],
[["event-2","0017000000001000000000000event-0",0,0,1700000002000,3,2,1700000002000,1700000002001]],
[4,1700000062000,"w"]],
[["0017000000002000000000000event-1",127,"My Shop","status",1700000000,"payload",1700000001500,"both",
["unknown_word"],"damaged","00-trace","vendor=value",true,true,
"message.failed","sms","m-1","sms","Safaricom","carrierA","network_failure","+254711000000",17,
{"kind":"transient","resend":true,"cause":"expired","reason":"no answer","code":"E7"},false]]]`.replaceAll('\n', '')

test('a stored record with every field is read as it was written', () => {
  expect(encodeRecord(SAMPLE)).toBe(STORED)
  expect(decodeRecord(STORED)).toEqual(SAMPLE)
})

test('a record that was stored before a field of reports was added is read as it was written', () => {
  const { scheduled: _, ...report } = FULL.report
  const record = { ...FULL, report }
  const values = JSON.parse(encodeRecord(SAMPLE)) as unknown[]
  const [reports] = values.slice(-1) as [unknown[][]]
  // `scheduled` is the last field, and the only false value.
  const earlier = reports.map((each) => each.filter((value) => value !== false))
  expect(decodeRecord(JSON.stringify([...values.slice(0, -1), earlier]))).toEqual({
    ...SAMPLE,
    latest: { order: ORDER, record, finals: [{ order: ORDER, record }] },
  })
})
