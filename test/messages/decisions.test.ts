/** The rules for the events of a message, as functions: no store, no clock. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeRecord } from '../../src/inbox/runtime/codec.ts'
import { admit, admitOverflow } from '../../src/messages/admit.ts'
import { resolve } from '../../src/messages/dead-letters.ts'
import { lease, release, settle, takeBack } from '../../src/messages/deliver.ts'
import { erase } from '../../src/messages/erase.ts'
import { expire } from '../../src/messages/expire.ts'
import { MOST_EVENTS, type Decision, type MessageRecord } from '../../src/messages/record.ts'
import { restore } from '../../src/messages/restore.ts'
import { becomeOverdue, endSend, expect as expectSend } from '../../src/messages/sends.ts'
import { NOW_MS, recordOf, report } from './records.ts'

const LEASE_MS = 1_000
const DAY_MS = 86_400_000

/** Decisions get data that nobody can change. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const each of Object.values(value)) frozen(each)
  }
  return value
}

/** A message to which one decision is applied after another. */
function message(start?: MessageRecord) {
  let record = start
  return {
    get record() {
      return record
    },
    apply<A>(decide: (known: MessageRecord | undefined) => Decision<A>): A {
      const decided = decide(frozen(record))
      record = decided.record ?? record
      return decided.answer
    },
    admit(at: number, more = {}, nowMs = NOW_MS) {
      return this.apply((known) => admit(known, report(at, more), nowMs))
    },
    lease(nowMs = NOW_MS) {
      return this.apply((known) => lease(known, { nowMs, untilMs: nowMs + LEASE_MS, worker: 'w' }))
    },
    done(id: string, token: number) {
      return this.apply((known) => settle(known, { id, token, outcome: 'done' }, NOW_MS))
    },
    die(nowMs = NOW_MS): string {
      const leased = this.lease(nowMs)
      if (leased === undefined) throw new Error('Nothing was due.')
      const { id, token } = leased
      expect(this.apply((known) => settle(known, { id, token, outcome: 'dead', error: 'no' }, nowMs))).toBe(true)
      return id
    },
  }
}

describe('admission', () => {
  test('every order of arrival, with any repetitions, ends in the same state', () => {
    const reports = [report(1), report(2, { final: true }), report(3), report(4, { final: true })]
    const indexes = fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 2, 3], { minLength: 8, maxLength: 8 })
    const inOrder = message()
    for (const one of reports) inOrder.apply((known) => admit(known, one, NOW_MS))
    fc.assert(
      fc.property(indexes, (order) => {
        const any = message()
        for (const index of order) any.apply((known) => admit(known, reports[index] ?? report(0), NOW_MS))
        expect(any.record?.latest).toEqual(inOrder.record?.latest)
        expect(any.record?.waiting.map(({ id }) => id)).toEqual(inOrder.record?.waiting.map(({ id }) => id))
      }),
    )
  })

  test('a duplicate changes nothing: of one that waits, is dead, or is settled', () => {
    const one = message()
    one.admit(1)
    expect(one.admit(1)).toBe('duplicate')
    const id = one.die()
    expect(one.admit(1)).toBe('duplicate')
    one.apply((known) => resolve(known, id, 'discard', NOW_MS))
    expect(one.admit(1)).toBe('duplicate')
    expect(one.record?.settled.map((settled) => settled.id)).toEqual([id])
  })

  test('a step that is missing is waited for, until it comes or the time is over', () => {
    const one = message()
    one.admit(2, { step: 2, awaits: 1, gapUntilMs: NOW_MS + 700 })
    expect(one.lease()).toBeUndefined()
    one.admit(1, { step: 1 })
    expect(one.lease()?.id).toBe('event-1')
    const other = message()
    other.admit(2, { step: 2, awaits: 1, gapUntilMs: NOW_MS + 700 })
    expect(other.lease(NOW_MS + 700)?.id).toBe('event-2')
    expect(other.admit(1, { step: 1 })).toBe('late')
  })

  test('a record has a bound; beyond it an event gets a record of its own, late where a later one was dispatched', () => {
    const one = message()
    for (let at = 1; at <= MOST_EVENTS; at += 1) expect(one.admit(at)).toBe('new')
    expect(one.admit(MOST_EVENTS + 1)).toBe('overflow')
    expect(one.lease()?.id).toBe('event-1')
    expect(one.admit(0)).toBe('late overflow')
    expect(one.record?.waiting).toHaveLength(MOST_EVENTS)
    expect(one.record?.latest?.record.report?.status).toBe(`event-${MOST_EVENTS + 1}`)
    const own = message()
    const event = report(0)
    expect(own.apply((known) => admitOverflow(known, { of: 'm', late: true }, event, NOW_MS))).toBe('late')
    expect(own.record).toMatchObject({ of: 'm', waiting: [{ id: event.id, late: true, order: '' }] })
    expect(own.apply((known) => admitOverflow(known, { of: 'm', late: true }, event, NOW_MS))).toBe('duplicate')
  })
})

describe('delivery', () => {
  /** Workers that lease, die, answer twice, or answer too late, in any interleaving. */
  const step = fc.oneof(
    fc.record({ kind: fc.constant('admit' as const), at: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('lease' as const) }),
    fc.record({ kind: fc.constant('pass' as const) }),
    fc.record({
      kind: fc.constantFrom('done' as const, 'retry' as const, 'unbegun' as const, 'dead' as const),
      which: fc.nat(5),
    }),
    fc.record({ kind: fc.constant('release' as const) }),
    fc.record({ kind: fc.constant('takeBack' as const) }),
    fc.record({ kind: fc.constant('replay' as const) }),
  )

  test('each event runs at least once, one at a time and never backwards, whatever is lost or repeated', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const one = message()
        let nowMs = NOW_MS
        const attempts: { readonly id: string; readonly token: number }[] = []
        const tokens = new Set<number>()
        const run = new Set<string>()
        let furthest = ''
        function leaseNow(): void {
          const before = one.record
          const leased = one.lease(nowMs)
          if (leased === undefined) return
          expect(before?.lease === undefined || before.lease.untilMs <= nowMs).toBe(true)
          expect(tokens.has(leased.token), 'a token is given out once').toBe(false)
          tokens.add(leased.token)
          if (!leased.late && !leased.replay) expect(leased.order >= furthest, 'never backwards').toBe(true)
          if (leased.order > furthest) furthest = leased.order
          attempts.push(leased)
          run.add(leased.id)
        }
        for (const each of steps) {
          if (each.kind === 'admit') one.admit(each.at, {}, nowMs)
          else if (each.kind === 'lease') leaseNow()
          else if (each.kind === 'pass') nowMs += LEASE_MS
          else if (each.kind === 'release') one.apply((known) => release(known, 'w'))
          else if (each.kind === 'takeBack') one.apply((known) => takeBack(known, () => true))
          else if (each.kind === 'replay') {
            const [letter] = one.record?.dead ?? []
            if (letter !== undefined) one.apply((known) => resolve(known, letter.id, 'replay', nowMs))
          } else {
            const attempt = attempts.at(-1 - (each.which % Math.max(1, attempts.length)))
            if (attempt === undefined) continue
            const entry = one.record?.waiting.find(({ id }) => id === attempt.id)
            const outcome =
              each.kind === 'dead'
                ? ({ outcome: 'dead', error: 'no' } as const)
                : each.kind === 'done'
                  ? ({ outcome: 'done' } as const)
                  : ({ outcome: each.kind, dueMs: nowMs } as const)
            const isSettled = one.apply((known) => settle(known, { ...attempt, ...outcome }, nowMs))
            expect(isSettled, 'the token of the last attempt alone settles').toBe(entry?.token === attempt.token)
          }
        }
        for (let rounds = 0; (one.record?.waiting.length ?? 0) > 0; rounds += 1) {
          expect(rounds).toBeLessThan(50)
          nowMs += LEASE_MS
          leaseNow()
          const last = attempts.at(-1)
          if (last !== undefined) one.done(last.id, last.token)
        }
        for (const { id } of one.record?.settled ?? []) expect(run.has(id), 'it ran').toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('a retry waits for its time, holds the later ones back, and may be repeated until the event is leased anew', () => {
    const one = message()
    one.admit(1)
    one.admit(2)
    const first = one.lease()
    if (first === undefined) throw new Error('It was due.')
    const retry = { ...first, outcome: 'retry', dueMs: NOW_MS + 500 } as const
    expect(one.apply((known) => settle(known, retry, NOW_MS))).toBe(true)
    expect(one.apply((known) => settle(known, retry, NOW_MS))).toBe(true)
    expect(one.lease()).toBeUndefined()
    expect(one.lease(NOW_MS + 500)).toMatchObject({ id: first.id, attempts: 2 })
    expect(one.apply((known) => settle(known, retry, NOW_MS))).toBe(false)
  })

  test('an attempt that did not begin does not count, and a token of 0 settles nothing', () => {
    const one = message()
    one.admit(1)
    expect(one.done('event-1', 0)).toBe(false)
    const first = one.lease()
    if (first === undefined) throw new Error('It was due.')
    one.apply((known) => settle(known, { ...first, outcome: 'unbegun', dueMs: NOW_MS }, NOW_MS))
    expect(one.done(first.id, first.token)).toBe(false)
    expect(one.lease()?.attempts).toBe(1)
  })
})

test('a dead letter is replayed late where a later report was dispatched, unless it is forced; once', () => {
  const one = message()
  one.admit(1)
  one.admit(2)
  const id = one.die()
  one.lease()
  expect(one.apply((known) => resolve(known, id, 'replay', NOW_MS))).toBe(true)
  expect(one.apply((known) => resolve(known, id, 'replay', NOW_MS))).toBe(false)
  expect(one.record?.waiting[0]).toMatchObject({ id, late: true, replay: true, attempts: 0 })
})

describe('sends', () => {
  const sent = { expectation: { sentAtMs: NOW_MS, to: '+254711000000' }, sentAtMs: NOW_MS, overdueAtMs: NOW_MS + 1_000 }
  const overdue = { ...report(0), id: 'overdue', order: '' }

  test('a message becomes overdue once, and not where it has an end', () => {
    const one = message()
    expect(one.apply((known) => expectSend(known, sent, NOW_MS))).toBe(true)
    expect(one.apply((known) => expectSend(known, sent, NOW_MS))).toBe(false)
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(true)
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(false)
    expect(one.record?.send).toMatchObject({ wasOverdue: true, overdueAtMs: undefined })
    const ended = message()
    ended.admit(1, { final: true })
    ended.apply((known) => expectSend(known, sent, NOW_MS))
    expect(ended.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(false)
    expect(ended.record?.waiting).toHaveLength(1)
  })

  test('nothing more is awaited of one that ended, and what waited for a send is due when it is known', () => {
    const one = message()
    one.admit(1, { awaits: 8, gapUntilMs: NOW_MS + 9_000 })
    expect(one.lease()).toBeUndefined()
    one.apply((known) => expectSend(known, sent, NOW_MS))
    expect(one.lease()?.id).toBe('event-1')
    one.apply((known) => endSend(known, sent.expectation))
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(false)
  })

  test('a record that is full has room for being overdue', () => {
    const one = message()
    one.apply((known) => expectSend(known, sent, NOW_MS))
    for (let at = 1; at <= MOST_EVENTS; at += 1) one.admit(at, { order: `${'0'.repeat(12)}0${at}` })
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(true)
    expect(one.record?.waiting).toHaveLength(MOST_EVENTS + 1)
  })
})

test('erasure leaves identities and what orders the message, and voids the token', () => {
  const one = message()
  one.admit(1)
  one.die()
  one.admit(2)
  one.admit(3)
  const leased = one.lease()
  if (leased === undefined) throw new Error('It was due.')
  const counts = one.apply((known) =>
    erase(known, { key: 'm', isMeant: () => true, kept: ['event-1', 'event-2'] }, NOW_MS),
  )
  expect(counts).toEqual({ events: 2, unsettled: 2, deadLetters: 1, states: 1 })
  if (one.record === undefined) throw new Error('Its identities stay.')
  expect(encodeRecord(one.record)).not.toContain('254711000000')
  expect(one.done(leased.id, leased.token)).toBe(false)
  for (const at of [1, 2, 3]) expect(one.admit(at)).toBe('duplicate')
  expect(one.admit(0)).toBe('late')
})

test('what is past its retention expires, and nothing else', () => {
  const retention = { payloadMs: DAY_MS, deadLetterMs: 2 * DAY_MS, dedupeMs: 3 * DAY_MS }
  const one = message()
  for (const at of [1, 2]) one.admit(at)
  one.die()
  const second = one.lease()
  if (second === undefined) throw new Error('It was due.')
  one.done(second.id, second.token)
  const at = (days: number, kept: readonly string[]) =>
    expire(frozen(one.record), { retention, kept }, NOW_MS + days * DAY_MS + 1)
  expect(at(0.5, ['event-1', 'event-2'])).toMatchObject({ answer: 'kept', payloads: [] })
  expect(at(1, ['event-1', 'event-2']).payloads).toEqual([{ id: 'event-2', becomes: 'removed' }])
  expect(at(2, []).record).toMatchObject({
    dead: [],
    settled: [{ id: 'event-2' }, { id: 'event-1', endedAtMs: NOW_MS }],
  })
  expect(at(3, []).record).toMatchObject({ dead: [], settled: [{ id: 'event-1' }] })
  one.apply(() => at(2, []))
  expect(at(6, []).answer).toBe('gone')
  one.admit(3)
  expect(at(6, []).answer).toBe('changed')
})

test('a record that cannot be read is made anew of its payloads, all pending, in their order', () => {
  const restored = restore([
    { id: 'b', admittedAtMs: NOW_MS, record: { ...recordOf('b'), timestamp: 2 } },
    { id: 'a', admittedAtMs: NOW_MS + 1, record: { ...recordOf('a'), timestamp: 1 } },
    { id: 'c', admittedAtMs: NOW_MS + 2, record: undefined },
  ])
  expect(restored.waiting.map(({ id }) => id)).toEqual(['c', 'a', 'b'])
  expect(restored.latest?.record.report?.status).toBe('b')
})
