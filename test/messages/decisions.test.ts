/** The rules for the events of a message, as functions: no store, no clock. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeRecord } from '../../src/stores/codec.ts'
import { resolve, restore } from '../../src/messages/replay.ts'
import { admitAndLease, admitOverflow, release, settle, takeBack } from '../../src/messages/events.ts'
import { erase } from '../../src/messages/retention.ts'
import { expire } from '../../src/messages/retention.ts'
import { dueMark } from '../../src/messages/record.ts'
import { MOST_EVENTS } from '../../src/messages/record.ts'
import { becomeOverdue, endSend, expect as expectSend } from '../../src/messages/sends.ts'
import { frozen, LEASE_MS, message } from './message.ts'
import { LIMITS, NOW_MS, recordOf, report } from './records.ts'

const DAY_MS = 86_400_000

describe('admission', () => {
  test('a duplicate changes nothing: pending, dead, or settled', () => {
    const one = message()
    one.admit(1)
    expect(one.admit(1)).toBe('duplicate')
    const id = one.die()
    expect(one.admit(1)).toBe('duplicate')
    one.apply((known) => resolve(known, id, 'discard', NOW_MS))
    expect(one.admit(1)).toBe('duplicate')
    expect(one.record?.settled.map((settled) => settled.id)).toEqual([id])
  })

  test('waits for a missing step, until it arrives or the reorder wait ends', () => {
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

  test('waits for no step seen before, and no step hurries a scheduled retry', () => {
    const one = message()
    one.admit(1, { step: 1 })
    one.admit(3, { step: 2, awaits: 1, gapUntilMs: NOW_MS + 700 })
    expect(one.record?.waiting.map(({ dueMs }) => dueMs)).toEqual([NOW_MS, NOW_MS])
    const other = message()
    other.admit(2, { awaits: 1 })
    const leased = other.lease()
    if (leased === undefined) throw new Error('It was due.')
    other.apply((known) => settle(known, { ...leased, outcome: 'retry', dueMs: NOW_MS + 5_000 }, NOW_MS))
    other.admit(1, { step: 1 }, NOW_MS + 1)
    expect(other.record?.waiting.map(({ id, dueMs }) => [id, dueMs])).toEqual([
      ['event-1', NOW_MS + 1],
      ['event-2', NOW_MS + 5_000],
    ])
  })

  test('a record is bounded; beyond it an event gets its own record, late if a later one was dispatched', () => {
    const one = message()
    for (let at = 1; at <= MOST_EVENTS; at += 1) expect(one.admit(at)).toBe('new')
    expect(one.admit(MOST_EVENTS + 1)).toBe('overflow')
    expect(one.lease()?.id).toBe('event-1')
    expect(one.admit(0)).toBe('late overflow')
    expect(one.record?.waiting).toHaveLength(MOST_EVENTS)
    expect(one.record?.latest?.record.report?.status).toBe(`event-${MOST_EVENTS + 1}`)
    const own = message()
    const event = report(0)
    expect(own.apply((known) => admitOverflow(known, { of: 'm', late: true }, event, NOW_MS, LIMITS))).toBe('late')
    expect(own.record).toMatchObject({ of: 'm', waiting: [{ id: event.id, late: true, order: '' }] })
    expect(own.apply((known) => admitOverflow(known, { of: 'm', late: true }, event, NOW_MS, LIMITS))).toBe('duplicate')
  })
})

test('a message that is always active drops idempotency keys past their window', () => {
  const one = message()
  for (let at = 1; at < MOST_EVENTS; at += 1) {
    one.admit(at)
    const leased = one.lease()
    one.done(leased?.id ?? '', leased?.token ?? 0)
  }
  expect(one.admit(1, {}, NOW_MS + LIMITS.dedupeMs + 1), 'it is known until something is written').toBe('duplicate')
  expect(one.admit(MOST_EVENTS, {}, NOW_MS + LIMITS.dedupeMs + 1)).toBe('new')
  expect([one.record?.settled, one.record?.waiting.length]).toEqual([[], 1])
})

test('a full message stays full, so that a repetition of an event in its own record is recognised', () => {
  const one = message()
  for (let at = 1; at <= MOST_EVENTS; at += 1) {
    one.admit(at)
    const leased = one.lease()
    one.done(leased?.id ?? '', leased?.token ?? 0)
  }
  const retention = { payloadMs: DAY_MS, deadLetterMs: DAY_MS, dedupeMs: LIMITS.dedupeMs }
  const overflowMs = NOW_MS + LIMITS.dedupeMs / 2
  expect(one.admit(MOST_EVENTS + 1, {}, overflowMs)).toBe('overflow')
  const expireAt = (nowMs: number) => one.apply((known) => expire(known, { retention, kept: [] }, nowMs))
  expect(expireAt(NOW_MS + LIMITS.dedupeMs + 1)).toBe('changed')
  expect(one.record?.settled).toEqual([])
  expect(expireAt(overflowMs + LIMITS.dedupeMs + 1)).toBe('gone')
  expect(one.admit(MOST_EVENTS + 1, {}, overflowMs + LIMITS.dedupeMs)).toBe('overflow')
})

describe('delivery', () => {
  test('leases an event on admission if it is the first of its message, due, and no lease is active', () => {
    const one = message()
    const request = { nowMs: NOW_MS, untilMs: NOW_MS + LEASE_MS, worker: 'w' }
    const admitLeased = (at: number, more = {}) =>
      one.apply((known) => admitAndLease(known, report(at, more), NOW_MS, { ...LIMITS, request }))
    expect(admitLeased(2)).toMatchObject({ admitted: 'new', leased: { entry: { id: 'event-2', attempts: 1 } } })
    expect(one.record?.lease).toEqual({ token: 1, untilMs: NOW_MS + LEASE_MS, worker: 'w', dispatchedBefore: '' })
    expect(admitLeased(2)).toEqual({ admitted: 'duplicate', leased: undefined })
    expect(admitLeased(1)).toEqual({ admitted: 'late', leased: undefined })
    expect(one.done('event-2', 1)).toBe(true)
    expect(admitLeased(3)).toEqual({ admitted: 'new', leased: undefined })
    const other = message()
    const waiting = report(2, { step: 2, awaits: 1, gapUntilMs: NOW_MS + 700 })
    expect(other.apply((known) => admitAndLease(known, waiting, NOW_MS, { ...LIMITS, request })).leased).toBeUndefined()
    expect(one.record?.waiting.map(({ token }) => token)).toEqual([0, 0])
  })

  /** Workers that lease, die, answer twice, or answer too late, in any interleaving. */
  const step = fc.oneof(
    fc.record({ kind: fc.constant('admit' as const), at: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('lease' as const) }),
    fc.record({ kind: fc.constant('pass' as const) }),
    fc.record({
      kind: fc.constantFrom('done' as const, 'retry' as const, 'release' as const, 'dead' as const),
      which: fc.nat(5),
    }),
    fc.record({ kind: fc.constant('release' as const) }),
    fc.record({ kind: fc.constant('takeBack' as const) }),
    fc.record({ kind: fc.constant('replay' as const) }),
  )

  test('each event runs at least once, one at a time and never backwards, despite losses and repetitions', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const one = message()
        let nowMs = NOW_MS
        const attempts: { readonly id: string; readonly token: number }[] = []
        const tokens = new Set<number>()
        const run = new Set<string>()
        let furthest = ''
        let furthestBefore = ''
        function leaseNow(): void {
          const before = one.record
          const leased = one.lease(nowMs)
          if (leased === undefined) return
          expect(before?.lease === undefined || before.lease.untilMs <= nowMs).toBe(true)
          expect(tokens.has(leased.token), 'a token is given out once').toBe(false)
          tokens.add(leased.token)
          if (!leased.late && !leased.replay) expect(leased.order >= furthest, 'never backwards').toBe(true)
          furthestBefore = furthest
          if (leased.order > furthest) furthest = leased.order
          attempts.push(leased)
          run.add(leased.id)
        }
        for (const each of steps) {
          if (each.kind === 'admit') {
            const late = one.admit(each.at, {}, nowMs) === 'late'
            if (late)
              expect(report(each.at).order < furthest, 'late only where a later one may have been seen').toBe(true)
          } else if (each.kind === 'lease') leaseNow()
          else if (each.kind === 'pass') nowMs += LEASE_MS
          else if (each.kind === 'release') one.apply((known) => release(known, 'w'))
          else if (each.kind === 'takeBack') {
            if (one.apply((known) => takeBack(known, () => true))) furthest = furthestBefore
          } else if (each.kind === 'replay') {
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

  test('a lease with a lost answer makes no event late; events late before it stay late', () => {
    const one = message()
    one.admit(3)
    one.lease()
    expect(one.admit(1)).toBe('late')
    one.done('event-3', 1)
    one.lease()
    one.done('event-1', 2)
    one.admit(5)
    one.lease()
    expect([one.admit(2), one.admit(4)]).toEqual(['late', 'late'])
    expect(one.apply((known) => takeBack(known, () => true))).toBe(true)
    expect(one.record?.waiting.map(({ id, late, attempts }) => [id, late, attempts])).toEqual([
      ['event-2', true, 0],
      ['event-4', false, 0],
      ['event-5', false, 0],
    ])
    one.done('event-2', one.lease()?.token ?? 0)
    expect(one.lease()).toMatchObject({ id: 'event-4', late: false })
    expect(one.admit(0)).toBe('late')
  })

  test('a retry waits for its time, blocks later events, and can be repeated until the event is leased again', () => {
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

  test('a leased message is due once its lease has expired and its first event is due, in this order or the other', () => {
    const untilMs = NOW_MS + LEASE_MS
    for (const gapUntilMs of [untilMs - 1, untilMs + 1]) {
      const one = message()
      one.admit(2)
      one.lease()
      // Of the same time and rank, so it is not late.
      const order = report(2).order.replace('event-2', 'a')
      expect(one.admit(2, { id: 'a', order, awaits: 1, gapUntilMs })).toBe('new')
      const dueMs = Math.max(untilMs, gapUntilMs)
      expect(one.record && dueMark(one.record)).toBe(dueMs)
      expect(one.lease(dueMs - 1)).toBeUndefined()
      expect(one.lease(dueMs)).toMatchObject({ id: 'a' })
    }
  })

  test('an attempt that did not start does not count, and a token of 0 settles nothing', () => {
    const one = message()
    one.admit(1)
    expect(one.done('event-1', 0)).toBe(false)
    const first = one.lease()
    if (first === undefined) throw new Error('It was due.')
    one.apply((known) => settle(known, { ...first, outcome: 'release', dueMs: NOW_MS }, NOW_MS))
    expect(one.done(first.id, first.token)).toBe(false)
    expect(one.lease()?.attempts).toBe(1)
  })

  test.each(['comes', 'is replayed'] as const)(
    'a released event is due at the given time, even if its awaited step %s then',
    (what) => {
      const one = message()
      if (what === 'is replayed') {
        one.admit(1, { step: 1 })
        one.die()
      }
      one.admit(2, { step: 2, awaits: 1 })
      const leased = one.lease()
      if (leased === undefined) throw new Error('It was due.')
      one.apply((known) => settle(known, { ...leased, outcome: 'release', dueMs: NOW_MS + 500 }, NOW_MS))
      if (what === 'comes') one.admit(1, { step: 1 })
      else one.apply((known) => resolve(known, 'event-1', 'replay', NOW_MS))
      const step = one.lease()
      if (step === undefined) throw new Error('It was due.')
      one.done(step.id, step.token)
      expect([step.id, one.lease(NOW_MS + 499)]).toEqual(['event-1', undefined])
      expect(one.lease(NOW_MS + 500)?.id).toBe('event-2')
    },
  )
})

test('replays a dead letter once, late if a later report was dispatched, unless forced', () => {
  const one = message()
  one.admit(1)
  one.admit(2)
  const id = one.die()
  one.lease()
  expect(one.apply((known) => resolve(known, id, 'replay', NOW_MS))).toBe(true)
  expect(one.apply((known) => resolve(known, id, 'replay', NOW_MS))).toBe(false)
  expect(one.record?.waiting[0]).toMatchObject({ id, late: true, replay: true, attempts: 0 })
  const other = message(one.record)
  other.apply((known) => settle(known, { id: 'event-2', token: known?.lease?.token ?? 0, outcome: 'done' }, NOW_MS))
  other.die()
  expect(other.apply((known) => resolve(known, id, 'force', NOW_MS))).toBe(true)
  expect(other.lease()).toMatchObject({ id, late: false, replay: true, attempts: 1 })
})

describe('sends', () => {
  const sent = { expectation: { sentAtMs: NOW_MS, to: '+254711000000' }, sentAtMs: NOW_MS, overdueAtMs: NOW_MS + 1_000 }
  const overdue = { ...report(0), id: 'overdue', order: '' }

  test('a message becomes overdue once, and not after its end', () => {
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
    expect(message().apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(false)
  })

  test('an ended message expects no more, and a report that waited for a send is due once it is known', () => {
    const one = message()
    one.admit(1, { awaits: 8, gapUntilMs: NOW_MS + 9_000 })
    expect(one.lease()).toBeUndefined()
    one.apply((known) => expectSend(known, sent, NOW_MS))
    expect(one.lease()?.id).toBe('event-1')
    const ended = { sentAtMs: NOW_MS, reference: 'ended' }
    one.apply((known) => endSend(known, ended))
    expect(one.record?.send).toMatchObject({ expectation: ended, wasOverdue: false })
    expect(one.admit(2, { awaits: 8, gapUntilMs: NOW_MS + 9_000 })).toBe('new')
    expect(one.record?.waiting.at(-1)?.dueMs).toBe(NOW_MS)
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(false)
  })

  test('a full record has capacity for becoming overdue', () => {
    const one = message()
    one.apply((known) => expectSend(known, sent, NOW_MS))
    for (let at = 1; at <= MOST_EVENTS; at += 1) one.admit(at, { order: `${'0'.repeat(12)}0${at}` })
    expect(one.apply((known) => becomeOverdue(known, overdue, NOW_MS))).toBe(true)
    expect(one.record?.waiting).toHaveLength(MOST_EVENTS + 1)
  })
})

test('erasure keeps idempotency keys and the order of the message, and voids the token', () => {
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
  expect(counts).toEqual({ events: 3, unsettled: 2, deadLetters: 1, states: 1 })
  if (one.record === undefined) throw new Error('Its identities stay.')
  expect(encodeRecord(one.record)).not.toContain('254711000000')
  expect(one.done(leased.id, leased.token)).toBe(false)
  for (const at of [1, 2, 3]) expect(one.admit(at)).toBe('duplicate')
  expect(one.admit(0)).toBe('late')
})

test('erasure removes the payload of an event admitted after the store was queried for payloads', () => {
  const one = message()
  one.admit(1)
  one.admit(2)
  const { payloads } = erase(one.record, { key: 'm', isMeant: () => true, kept: ['event-1'] }, NOW_MS)
  expect(payloads).toEqual(['event-1', 'event-2'].map((id) => ({ id, becomes: 'removed' })))
})

test('erasing one event leaves the lease and the reports of the others; the settlement of an erased one changes nothing', () => {
  const one = message()
  for (const at of [1, 2, 3]) one.admit(at, { final: at < 3 })
  const leased = one.lease()
  if (leased === undefined) throw new Error('It was due.')
  const eraseOne = (id: string) =>
    one.apply((known) => erase(known, { key: 'm', isMeant: (each) => each === id, kept: [] }, NOW_MS))
  expect(eraseOne('event-3')).toMatchObject({ unsettled: 1, states: 1 })
  expect(one.record?.latest?.record.report?.status).toBe('event-2')
  expect(one.record?.lease?.token).toBe(leased.token)
  eraseOne('event-1')
  const outcomes = [
    { outcome: 'done' },
    { outcome: 'dead', error: 'no' },
    { outcome: 'retry', dueMs: NOW_MS },
    { outcome: 'release', dueMs: NOW_MS },
  ] as const
  for (const outcome of outcomes)
    expect(one.apply((known) => settle(known, { ...leased, ...outcome }, NOW_MS))).toBe(false)
  expect(one.lease()?.id).toBe('event-2')
})

test('only events past their retention expire', () => {
  const retention = { payloadMs: DAY_MS, deadLetterMs: 2 * DAY_MS, dedupeMs: 3 * DAY_MS }
  const one = message()
  for (const at of [1, 2]) one.admit(at)
  one.die()
  const second = one.lease()
  if (second === undefined) throw new Error('It was due.')
  one.done(second.id, second.token)
  const at = (days: number, kept: readonly string[]) =>
    expire(frozen(one.record), { retention, kept }, NOW_MS + days * DAY_MS + 1)
  expect(at(0.5, ['event-1', 'event-2'])).toEqual({ answer: 'kept' })
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

test('rebuilds an unreadable record from its payloads, all pending, in their order', () => {
  const left = [
    { id: 'b', admittedAtMs: NOW_MS, record: { ...recordOf('b'), timestamp: 2 } },
    { id: 'a', admittedAtMs: NOW_MS + 1, record: { ...recordOf('a'), timestamp: 1 } },
    { id: 'c', admittedAtMs: NOW_MS + 2, record: undefined },
  ]
  const restored = restore(left, undefined)
  expect(restored.waiting.map(({ id }) => id)).toEqual(['c', 'a', 'b'])
  expect(restored.latest?.record.report?.status).toBe('b')
  // The record of an event outside the full one of its message has no order.
  expect(restore(left.slice(0, 1), 'm')).toMatchObject({
    of: 'm',
    latest: undefined,
    waiting: [{ id: 'b', order: '' }],
  })
})
