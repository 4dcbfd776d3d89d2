/**
 * Lateness and the order of dispatch. The expected order is written here by hand from the contract (service.md#delivery-rules):
 * by timestamp, within one second by the life of a message. Chat-app reports carry no time, so their life alone orders them.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReportType } from '../../src/public/events.ts'
import { placeOf } from '../../src/messages/order.ts'
import type { EventRecord, Report } from '../../src/messages/event-record.ts'
import { admit, settle, type AdmittedEvent } from '../../src/messages/events.ts'
import { resolve } from '../../src/messages/replay.ts'
import { LEASE_MS, message } from './message.ts'
import { LIMITS, NOW_MS, recordOf } from './records.ts'

const GAP_MS = 700

interface Step {
  readonly type: ReportType
  readonly failure?: Report['failure']
  readonly rank: number
}

const TRANSIENT = { kind: 'transient', resend: true, cause: 'network_failure' } as const
const PERMANENT = { kind: 'permanent', resend: false, cause: 'unknown_error' } as const

const LIFE = {
  queued: { type: 'message.queued', rank: 0 },
  sent: { type: 'message.sent', rank: 1 },
  failedForNow: { type: 'message.failed', failure: TRANSIENT, rank: 2 },
  delivered: { type: 'message.delivered', rank: 3 },
  failed: { type: 'message.failed', failure: PERMANENT, rank: 3 },
  read: { type: 'message.read', rank: 4 },
} as const satisfies Record<string, Step>

interface Reported extends AdmittedEvent {
  readonly place: readonly [time: number, rank: number]
}

/** The report of this step at this second; `name` tells reports of equal time and rank apart. */
function reported({ shape, step, at, name }: Drawn): Reported {
  const { type, rank, failure } = step
  const id = `${name} ${type} ${rank} ${at}`
  const report: Report = { ...recordOf(id).report, type, shape, messageId: 'm', ...(failure && { failure }) }
  const timestampSource = shape === 'sms' ? 'payload' : 'signature'
  const record: EventRecord = { ...recordOf(id), timestamp: 1_700_000_000 + at, timestampSource, report }
  const place = [shape === 'sms' ? at : 0, rank] as const
  return { id, ...placeOf(id, report, record), gapUntilMs: NOW_MS, record, place }
}

interface Drawn {
  readonly shape: 'sms' | 'chat-app'
  readonly step: Step
  readonly at: number
  readonly name: string
}

function outcomeOf(outcome: 'done' | 'retry' | 'dead', nowMs: number) {
  if (outcome === 'retry') return { outcome, dueMs: nowMs }
  return outcome === 'dead' ? { outcome, error: 'no' } : { outcome }
}

function isOlder({ place: [time, rank] }: Reported, { place: [otherTime, otherRank] }: Reported): boolean {
  return time < otherTime || (time === otherTime && rank < otherRank)
}

/** Admits these one after another, each when the one before it is settled. Returns the late ones. */
function dispatched(...arrivals: readonly Reported[]): readonly boolean[] {
  const one = message()
  return arrivals.map((arrival) => {
    one.apply((known) => admit(known, arrival, NOW_MS, LIMITS))
    const leased = one.lease()
    if (leased === undefined) throw new Error('It was due.')
    one.done(leased.id, leased.token)
    return leased.late
  })
}

describe('reports of equal time and rank are both dispatched as themselves', () => {
  const sms = { shape: 'sms', at: 1, name: 'a' } as const
  const chatApp = { shape: 'chat-app', at: 1, name: 'a' } as const
  test.each<[string, Drawn, Drawn]>([
    ['failed for now, twice', { ...sms, step: LIFE.failedForNow }, { ...sms, step: LIFE.failedForNow, name: 'b' }],
    ['delivered and failed', { ...sms, step: LIFE.delivered }, { ...sms, step: LIFE.failed }],
    [
      'chat-app, signed in the same second',
      { ...chatApp, step: LIFE.sent },
      { ...chatApp, step: LIFE.sent, name: 'b' },
    ],
    ['chat-app, signed in two seconds', { ...chatApp, step: LIFE.queued }, { ...chatApp, step: LIFE.queued, at: 2 }],
    ['chat-app, delivered and failed', { ...chatApp, step: LIFE.delivered }, { ...chatApp, step: LIFE.failed, at: 2 }],
  ])('%s', (_what, one, other) => {
    expect(dispatched(reported(one), reported(other))).toEqual([false, false])
    expect(dispatched(reported(other), reported(one))).toEqual([false, false])
  })
})

describe('any order, repetitions and outcomes', () => {
  const outcome = fc.constantFrom('done' as const, 'retry' as const, 'dead' as const)
  const scenario = fc.constantFrom('sms' as const, 'chat-app' as const).chain((shape) =>
    fc
      .uniqueArray(
        fc.record({
          shape: fc.constant(shape),
          step: fc.constantFrom<Step>(...Object.values(LIFE)),
          at: fc.nat(2),
          name: fc.constantFrom('a', 'b'),
        }),
        { selector: (one) => reported(one).id, minLength: 1, maxLength: 6 },
      )
      .chain((drawn) =>
        fc.record({
          reports: fc.constant(drawn.map(reported)),
          arrivals: fc
            .shuffledSubarray([...drawn, ...drawn], { minLength: 2 * drawn.length })
            .map((order) => order.map(reported)),
          /** The outcomes of the attempts after each arrival. */
          attempts: fc.array(fc.array(outcome, { maxLength: 3 }), { maxLength: 12 }),
          replays: fc.boolean(),
        }),
      ),
  )

  test('no event runs as on time after a newer one, only older ones are late, and the final state is the same', () => {
    fc.assert(
      fc.property(scenario, ({ reports, arrivals, attempts, replays }) => {
        const inOrder = message()
        for (const report of reports) inOrder.apply((known) => admit(known, report, NOW_MS, LIMITS))
        const one = message()
        const before: Reported[] = []
        let nowMs = NOW_MS
        function attempt(outcome: 'done' | 'retry' | 'dead'): void {
          const leased = one.lease(nowMs)
          if (leased === undefined) return
          const report = reports.find(({ id }) => id === leased.id)
          if (report === undefined) throw new Error('It was never admitted.')
          expect(leased.late, `${leased.id} is late`).toBe(before.some((other) => isOlder(report, other)))
          before.push(report)
          const { id, token } = leased
          one.apply((known) => settle(known, { id, token, ...outcomeOf(outcome, nowMs) }, nowMs))
        }
        for (const [index, arrival] of arrivals.entries()) {
          one.apply((known) => admit(known, { ...arrival, gapUntilMs: nowMs + GAP_MS }, nowMs, LIMITS))
          for (const outcome of attempts[index] ?? []) attempt(outcome)
          const [letter] = one.record?.dead ?? []
          if (replays && letter !== undefined) one.apply((known) => resolve(known, letter.id, 'replay', nowMs))
          nowMs += 300
        }
        for (const { id } of one.record?.dead ?? []) one.apply((known) => resolve(known, id, 'replay', nowMs))
        nowMs += LEASE_MS + GAP_MS
        for (const _ of reports) attempt('done')
        expect(one.record?.waiting).toEqual([])
        expect(one.record?.settled.map(({ id }) => id).sort()).toEqual(reports.map(({ id }) => id).sort())
        expect(one.record?.latest).toEqual(inOrder.record?.latest)
      }),
      { numRuns: 500 },
    )
  })
})
