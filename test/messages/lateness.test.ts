/**
 * Lateness and the order of dispatch. The expected order is written here by hand from the contract (service.md#delivery-rules):
 * by timestamp, within one second by the life of a message. Chat-app reports carry no time, so their life alone orders them.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReportType } from '../../src/public/events.ts'
import { placeOf } from '../../src/messages/order.ts'
import type { EventRecord, NewEvent, Report } from '../../src/messages/event-record.ts'
import type { Outcome } from '../../src/messages/commands.ts'
import { KEY, LEASE_MS, message } from './message.ts'
import { NOW_MS, recordOf, report as reportAt } from './records.ts'

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

interface Reported extends NewEvent {
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
  return { ...reportAt(at), id, ...placeOf(id, report, record), record, place }
}

interface Drawn {
  readonly shape: 'sms' | 'chat-app'
  readonly step: Step
  readonly at: number
  readonly name: string
}

const OUTCOMES: Readonly<Record<'done' | 'retry' | 'dead', Outcome>> = {
  done: { outcome: 'done' },
  retry: { outcome: 'retry', inMs: 0 },
  dead: { outcome: 'dead', error: 'no' },
}

function isOlder({ place: [time, rank] }: Reported, { place: [otherTime, otherRank] }: Reported): boolean {
  return time < otherTime || (time === otherTime && rank < otherRank)
}

/** Admits these one after another, each when the one before it is settled. Returns the late ones. */
function dispatched(...arrivals: readonly Reported[]): readonly boolean[] {
  const one = message()
  return arrivals.map((arrival) => {
    one.apply({ do: 'admit', key: KEY, event: arrival })
    const { id, token, late } = one.granted()
    one.done(id, token)
    return late
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
        for (const event of reports) inOrder.apply({ do: 'admit', key: KEY, event })
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
          one.settle(leased, OUTCOMES[outcome], nowMs)
        }
        for (const [index, arrival] of arrivals.entries()) {
          one.apply({ do: 'admit', key: KEY, event: { ...arrival, reorderWaitMs: GAP_MS } }, nowMs)
          for (const outcome of attempts[index] ?? []) attempt(outcome)
          const [letter] = one.record?.dead ?? []
          if (replays && letter !== undefined) one.resolve(letter.id, 'replay', nowMs)
          nowMs += 300
        }
        for (const { id } of one.record?.dead ?? []) one.resolve(id, 'replay', nowMs)
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

test('every order of four reports that each arrive twice ends equal', () => {
  const life = [LIFE.queued, LIFE.sent, LIFE.failedForNow, LIFE.delivered]
  const reports = life.map((step, at) => reported({ shape: 'sms', step, at, name: 'a' }))
  const orders = ordersOf([...reports, ...reports])
  const ends = orders.map((arrivals) => {
    const one = message()
    for (const event of arrivals) one.apply({ do: 'admit', key: KEY, event })
    const dispatched: string[] = []
    for (let granted = one.lease(); granted !== undefined; granted = one.lease()) {
      dispatched.push(granted.id)
      one.done(granted.id, granted.token)
    }
    return { dispatched, latest: one.record?.latest }
  })
  expect(orders).toHaveLength(2_520)
  const [first] = ends
  expect(first?.dispatched).toEqual(reports.map(({ id }) => id))
  for (const end of ends) expect(end).toEqual(first)
})

/** Every order of these, counted once if two are the same. */
function ordersOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length === 0) return [[]]
  return [...new Set(items)].flatMap((first) => {
    const at = items.indexOf(first)
    return ordersOf(items.toSpliced(at, 1)).map((rest) => [first, ...rest])
  })
}
