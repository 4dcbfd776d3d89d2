/** Reports of one message, and random records. */
import fc from 'fast-check'
import type { EventRecord } from 'messaging-webhooks/store'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { Entry, MessageRecord } from '../../src/messages/record.ts'

export const NOW_MS = 1_800_000_000_000
const DAY_MS = 86_400_000
export const RETENTION = { payloadMs: DAY_MS, deadLetterMs: 2 * DAY_MS, dedupeMs: 3 * DAY_MS }

export function recordOf(status: string): EventRecord {
  return {
    project: 'My Shop',
    kind: 'status',
    timestamp: 1_700_000_000,
    timestampSource: 'payload',
    receivedAtMs: NOW_MS,
    proof: 'both',
    report: {
      type: 'message.delivered',
      shape: 'sms',
      messageId: 'm',
      channel: 'sms',
      recipient: '+254711000000',
      status,
    },
  }
}

/** The report at this place of its message; `final` for one that ends it. */
export function report(at: number, more: Partial<NewEvent> = {}): NewEvent {
  const id = `event-${at}`
  const order = `${String(at).padStart(12, '0')}3${'0'.repeat(12)}${id}`
  const place = { order, final: false, step: 0, awaits: 0, reorderWaitMs: 0 }
  return { id, messageKey: 'm', ...place, record: recordOf(id), raw: Buffer.from(id), ...more }
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('\ud83d'), fc.constant('\0 "\n'))
const timeMs = fc.integer({ min: 0, max: 4_102_444_800_000 })

const eventRecord: fc.Arbitrary<EventRecord> = fc
  .record(
    {
      project: fc.option(text, { nil: undefined }),
      kind: fc.constantFrom('status' as const, undefined),
      timestamp: fc.integer({ min: 0, max: 4_000_000_000 }),
      timestampSource: fc.constantFrom('payload' as const, 'arrival' as const),
      receivedAtMs: timeMs,
      proof: fc.constantFrom('both' as const, 'signature' as const),
      traceparent: text,
      tracestate: text,
      report: fc.record(
        {
          type: fc.constantFrom('message.sent' as const, 'message.failed' as const),
          shape: fc.constant('sms' as const),
          messageId: text,
          channel: text,
          network: text,
          recipient: text,
          status: text,
          scheduled: fc.boolean(),
          failure: fc.record({
            kind: fc.constant('transient' as const),
            resend: fc.boolean(),
            cause: fc.constant('expired' as const),
            reason: text,
          }),
        },
        { requiredKeys: ['type', 'shape', 'messageId'] },
      ),
    },
    { requiredKeys: ['project', 'kind', 'timestamp', 'timestampSource', 'receivedAtMs', 'proof'] },
  )
  // The trace state is kept only with its parent.
  .map(({ tracestate, ...record }) =>
    record.traceparent === undefined ? record : { ...record, tracestate: tracestate ?? '' },
  )

const entry: fc.Arbitrary<Entry> = fc.record({
  id: text,
  order: text,
  awaits: fc.nat(64),
  dueMs: timeMs,
  attempts: fc.nat(100),
  token: fc.nat(),
  late: fc.boolean(),
  replay: fc.boolean(),
  admittedAtMs: timeMs,
})

const final = fc.record({ order: text, record: eventRecord })

/** Any record without a send, which is stored beside it. */
export const anyRecord: fc.Arbitrary<MessageRecord> = fc.record({
  lease: fc.option(fc.record({ token: fc.nat(), untilMs: timeMs, worker: text }), {
    nil: undefined,
  }),
  tokens: fc.nat(),
  dispatchedUpTo: text,
  steps: fc.nat(15),
  latest: fc.option(
    fc.tuple(final, fc.array(final, { maxLength: 3 }), fc.boolean()).map(([newest, finals, isFinal]) => ({
      ...newest,
      finals: isFinal ? [...finals, newest] : finals.filter(({ order }) => order !== newest.order),
    })),
    { nil: undefined },
  ),
  waiting: fc.array(entry, { maxLength: 3 }),
  dead: fc.array(
    fc.tuple(entry, timeMs).map(([waiting, diedAtMs]) => ({ ...waiting, diedAtMs })),
    { maxLength: 2 },
  ),
  settled: fc.array(fc.record({ id: text, endedAtMs: timeMs, attempts: fc.nat(1_000), late: fc.boolean() }), {
    maxLength: 4,
  }),
  send: fc.constant(undefined),
})
