/** The rules for the events of a message, by commands to `decide`: no store, no clock. */
import { describe, expect, test } from 'vitest'
import { encodeRecord } from '../../src/stores/codec.ts'
import { dueMark, MAX_SETTLED, MAX_WAITING } from '../../src/messages/record.ts'
import { KEY, LEASE_MS, message } from './message.ts'
import { NOW_MS, report, RETENTION } from './records.ts'

const DAY_MS = 86_400_000

describe('admission', () => {
  test('a duplicate changes nothing: pending, dead, or settled', () => {
    const one = message()
    one.admit(1)
    expect(one.admit(1)).toBe('duplicate')
    const id = one.die()
    expect(one.admit(1)).toBe('duplicate')
    one.resolve(id, 'discard')
    expect(one.admit(1)).toBe('duplicate')
    expect(one.record?.settled.map((settled) => settled.id)).toEqual([id])
  })

  test('waits for a missing step, until it arrives or the reorder wait ends', () => {
    const one = message()
    one.admit(2, { step: 2, awaits: 1, reorderWaitMs: 700 })
    expect(one.lease()).toBeUndefined()
    one.admit(1, { step: 1 })
    expect(one.lease()?.id).toBe('event-1')
    const other = message()
    other.admit(2, { step: 2, awaits: 1, reorderWaitMs: 700 })
    expect(other.lease(NOW_MS + 700)?.id).toBe('event-2')
    expect(other.admit(1, { step: 1 })).toBe('late')
  })

  test('waits for no step seen before, and no step hurries a scheduled retry', () => {
    const one = message()
    one.admit(1, { step: 1 })
    one.admit(3, { step: 2, awaits: 1, reorderWaitMs: 700 })
    expect(one.record?.waiting.map(({ dueMs }) => dueMs)).toEqual([NOW_MS, NOW_MS])
    const other = message()
    other.admit(2, { awaits: 1 })
    const leased = other.granted()
    other.settle(leased, { outcome: 'retry', inMs: 5_000 })
    other.admit(1, { step: 1 }, NOW_MS + 1)
    expect(other.record?.waiting.map(({ id, dueMs }) => [id, dueMs])).toEqual([
      ['event-1', NOW_MS + 1],
      ['event-2', NOW_MS + 5_000],
    ])
  })

  test('a record is bounded; an event beyond it is a dead letter, and counts for the latest state', () => {
    const one = message()
    for (let at = 1; at <= MAX_WAITING; at += 1) expect(one.admit(at)).toBe('new')
    expect(one.admit(MAX_WAITING + 1)).toBe('crowded')
    const id = `event-${MAX_WAITING + 1}`
    expect(one.payloads).toMatchObject([
      { id, becomes: 'stored' },
      { id, becomes: 'dead', error: expect.stringContaining('message_crowded') as string },
    ])
    expect(one.admit(MAX_WAITING + 1)).toBe('duplicate')
    expect(one.record?.waiting).toHaveLength(MAX_WAITING)
    expect(one.record?.latest?.record.report?.status).toBe(id)
    const { id: first, token } = one.granted()
    expect(first).toBe('event-1')
    one.done(first, token)
    expect(one.resolve(id, 'replay')).toBe(true)
    expect(one.record?.waiting.at(-1)).toMatchObject({ id, late: false, replay: true })
  })

  test('a store without capacity admits nothing but repetitions', () => {
    const one = message()
    one.admit(1)
    const admit = (at: number) => one.apply({ do: 'admit', key: KEY, event: report(at) }, NOW_MS, { isFull: true })
    expect([admit(1), admit(2)].map(({ admission }) => admission)).toEqual(['duplicate', 'full'])
    expect(one.record?.waiting).toHaveLength(1)
  })
})

test('a message that is always active drops idempotency keys past their window', () => {
  const one = message()
  for (const at of [1, 2]) {
    one.admit(at)
    const { id, token } = one.granted()
    one.done(id, token)
  }
  const laterMs = NOW_MS + RETENTION.dedupeMs + 1
  expect(one.admit(1, {}, laterMs), 'it is known until something is written').toBe('duplicate')
  expect(one.admit(3, {}, laterMs)).toBe('new')
  expect([one.record?.settled, one.record?.waiting.length]).toEqual([[], 1])
})

test('keeps the newest identities, and removes the payloads of the others', () => {
  const one = message()
  for (let at = 1; at <= MAX_SETTLED + 1; at += 1) {
    one.admit(at)
    const { id, token } = one.granted()
    one.done(id, token)
  }
  const last = `event-${MAX_SETTLED + 1}`
  expect(one.payloads).toEqual([
    { id: last, becomes: 'settled' },
    { id: 'event-1', becomes: 'removed' },
  ])
  expect(one.record?.settled).toHaveLength(MAX_SETTLED)
  expect([one.admit(2), one.admit(MAX_SETTLED + 1)]).toEqual(['duplicate', 'duplicate'])
})

describe('delivery', () => {
  test('leases an event on admission if it is the first of its message, due, and no lease is active', () => {
    const one = message()
    const admitLeased = (at: number, of = one, more = {}) =>
      of.apply({ do: 'admit', key: KEY, event: report(at, more), leaseForMs: LEASE_MS })
    expect(admitLeased(2)).toMatchObject({ admission: 'new', granted: { id: 'event-2', token: 1, attempt: 1 } })
    expect(one.record?.lease).toEqual({ token: 1, untilMs: NOW_MS + LEASE_MS, worker: 'w' })
    expect(admitLeased(2)).toEqual({ admission: 'duplicate', granted: undefined })
    expect(admitLeased(1)).toEqual({ admission: 'late', granted: undefined })
    expect(one.done('event-2', 1)).toBe(true)
    expect(admitLeased(3)).toEqual({ admission: 'new', granted: undefined })
    expect(one.record?.waiting.map(({ token }) => token)).toEqual([0, 0])
    expect(admitLeased(2, message(), { step: 2, awaits: 1, reorderWaitMs: 700 }).granted).toBeUndefined()
  })

  test('a worker releases its own lease, or the one with this token; the event is due again with another token', () => {
    const one = message()
    one.admit(1)
    const { id, token } = one.granted()
    const release = (worker: string, of?: number) => one.apply({ do: 'release', key: KEY, worker, token: of })
    expect([release('other'), release('w', token + 1), one.lease()]).toEqual([false, false, undefined])
    expect([release('w', token), one.done(id, token)]).toEqual([true, false])
    expect(one.lease()).toMatchObject({ id, token: token + 1 })
    expect(release('w')).toBe(true)
    expect(one.lease()).toMatchObject({ id, token: token + 2 })
  })

  test('after a clock was set back, an event that was admitted later than now is due, and a scheduled retry too', () => {
    const one = message()
    one.admit(1)
    one.admit(2, { order: '', id: 'other' }, NOW_MS + 3_000)
    one.settle(one.granted(NOW_MS + 4_000), { outcome: 'retry', inMs: 60_000 }, NOW_MS + 4_000)
    const catchUp = (nowMs: number) => one.apply({ do: 'catchUp', key: KEY }, nowMs)
    expect(catchUp(NOW_MS)).toBe(true)
    expect(catchUp(NOW_MS)).toBe(false)
    expect(one.granted(NOW_MS).id).toBe('other')
  })

  test('a retry waits for its time, blocks later events, and can be repeated until the event is leased again', () => {
    const one = message()
    one.admit(1)
    one.admit(2)
    const first = one.granted()
    const retry = () => one.settle(first, { outcome: 'retry', inMs: 500 })
    expect([retry(), retry()]).toEqual([true, true])
    expect(one.lease()).toBeUndefined()
    expect(one.lease(NOW_MS + 500)).toMatchObject({ id: first.id, attempt: 2 })
    expect(retry()).toBe(false)
  })

  test('a leased message is due once its lease has expired and its first event is due, in this order or the other', () => {
    for (const waitMs of [LEASE_MS - 1, LEASE_MS + 1]) {
      const one = message()
      one.admit(2)
      one.lease()
      // Of the same time and rank, so it is not late.
      const order = report(2).order.replace('event-2', 'a')
      expect(one.admit(2, { id: 'a', order, awaits: 1, reorderWaitMs: waitMs })).toBe('new')
      const dueMs = NOW_MS + Math.max(LEASE_MS, waitMs)
      expect(one.record && dueMark(one.record)).toBe(dueMs)
      expect(one.lease(dueMs - 1)).toBeUndefined()
      expect(one.lease(dueMs)).toMatchObject({ id: 'a' })
    }
  })

  test('an attempt that did not start does not count, and a token of 0 settles nothing', () => {
    const one = message()
    one.admit(1)
    expect(one.done('event-1', 0)).toBe(false)
    const first = one.granted()
    one.settle(first, { outcome: 'release', inMs: 0 })
    expect(one.done(first.id, first.token)).toBe(false)
    expect(one.lease()?.attempt).toBe(1)
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
      const leased = one.granted()
      one.settle(leased, { outcome: 'release', inMs: 500 })
      if (what === 'comes') one.admit(1, { step: 1 })
      else one.resolve('event-1', 'replay')
      const step = one.granted()
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
  expect(one.resolve(id, 'replay')).toBe(true)
  expect(one.resolve(id, 'replay')).toBe(false)
  expect(one.record?.waiting[0]).toMatchObject({ id, late: true, replay: true, attempts: 0 })
  const other = message(one.record)
  other.done('event-2', other.record?.lease?.token ?? 0)
  other.die()
  expect(other.resolve(id, 'force')).toBe(true)
  expect(other.lease()).toMatchObject({ id, late: false, replay: true, attempt: 1 })
})

describe('sends', () => {
  const send = { expectation: { sentAtMs: NOW_MS, to: '+254711000000' }, sentAtMs: NOW_MS, overdueInMs: 1_000 }
  const expectSend = (one: ReturnType<typeof message>) => one.apply({ do: 'expect', key: KEY, send })
  const event = report(0, { id: 'overdue', order: '' })
  const becomeOverdue = (one: ReturnType<typeof message>) => one.apply({ do: 'overdue', key: KEY, event })

  test('a message becomes overdue once, and not after its end', () => {
    const one = message()
    expect([expectSend(one), expectSend(one)]).toEqual(['new', 'known'])
    expect([becomeOverdue(one), becomeOverdue(one)]).toEqual([true, false])
    expect(one.record?.send).toMatchObject({ wasOverdue: true, overdueAtMs: undefined })
    const ended = message()
    ended.admit(1, { final: true })
    expectSend(ended)
    expect(becomeOverdue(ended)).toBe(false)
    expect(ended.record?.waiting).toHaveLength(1)
    expect(becomeOverdue(message())).toBe(false)
  })

  test('an ended message expects no more, and a report that waited for a send is due once it is known', () => {
    const one = message()
    one.admit(1, { awaits: 8, reorderWaitMs: 9_000 })
    expect(one.lease()).toBeUndefined()
    expectSend(one)
    expect(one.lease()?.id).toBe('event-1')
    const rest = { sentAtMs: NOW_MS, reference: 'ended' }
    one.apply({ do: 'endSend', key: KEY, rest })
    expect(one.record?.send).toMatchObject({ expectation: rest, wasOverdue: false })
    expect(one.admit(2, { awaits: 8, reorderWaitMs: 9_000 })).toBe('new')
    expect(one.record?.waiting.at(-1)?.dueMs).toBe(NOW_MS)
    expect(becomeOverdue(one)).toBe(false)
  })

  test('a crowded message becomes overdue with a dead letter', () => {
    const one = message()
    expectSend(one)
    for (let at = 1; at <= MAX_WAITING; at += 1) one.admit(at)
    expect(becomeOverdue(one)).toBe(true)
    expect(one.record?.dead).toMatchObject([{ id: 'overdue' }])
  })
})

test('erasure keeps idempotency keys and the order of the message, and voids the token', () => {
  const one = message()
  one.admit(1)
  one.die()
  one.admit(2)
  one.admit(3)
  const leased = one.granted()
  const kept = ['event-1', 'event-2']
  expect(one.apply({ do: 'erase', key: KEY, dryRun: false }, NOW_MS, { kept })).toEqual({
    events: 3,
    unsettled: 2,
    deadLetters: 1,
    states: 1,
  })
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
  one.apply({ do: 'erase', key: KEY, dryRun: false }, NOW_MS, { kept: ['event-1'] })
  expect(one.payloads).toEqual(['event-1', 'event-2'].map((id) => ({ id, becomes: 'removed' })))
})

test('erasing one event leaves the lease and the reports of the others; the settlement of an erased one changes nothing', () => {
  const one = message()
  for (const at of [1, 2, 3]) one.admit(at, { final: at < 3 })
  const leased = one.granted()
  const eraseOne = (id: string) => one.apply({ do: 'erase', key: KEY, ids: [id], dryRun: false })
  expect(eraseOne('event-3')).toMatchObject({ unsettled: 1, states: 1 })
  expect(one.record?.latest?.record.report?.status).toBe('event-2')
  expect(one.record?.lease?.token).toBe(leased.token)
  eraseOne('event-1')
  const outcomes = [
    { outcome: 'done' },
    { outcome: 'dead', error: 'no' },
    { outcome: 'retry', inMs: 0 },
    { outcome: 'release', inMs: 0 },
  ] as const
  for (const outcome of outcomes) expect(one.settle(leased, outcome)).toBe(false)
  expect(one.lease()?.id).toBe('event-2')
})

test('only events past their retention expire, by the trusted time', () => {
  const one = message()
  for (const at of [1, 2]) one.admit(at)
  one.die()
  const { id, token } = one.granted()
  one.done(id, token)
  /** Of a copy. */
  const at = (days: number, kept: readonly string[], start = one.record) => {
    const copy = message(start)
    const trustedMs = NOW_MS + days * DAY_MS + 1
    const answer = copy.apply({ do: 'expire', key: KEY }, NOW_MS + 400 * DAY_MS, { trustedMs, kept })
    return { answer, record: copy.record, payloads: copy.payloads }
  }
  expect(at(0.5, ['event-1', 'event-2'])).toEqual({ answer: 'kept', record: one.record, payloads: [] })
  expect(at(1, ['event-1', 'event-2']).payloads).toEqual([{ id: 'event-2', becomes: 'removed' }])
  const { record } = at(2, [])
  expect(record).toMatchObject({ dead: [], settled: [{ id: 'event-2' }, { id: 'event-1', endedAtMs: NOW_MS }] })
  expect(at(3, []).record).toMatchObject({ dead: [], settled: [{ id: 'event-1' }] })
  expect(at(6, [], record)).toMatchObject({ answer: 'gone', record: undefined })
  const waiting = message(record)
  waiting.admit(3)
  expect(at(6, [], waiting.record).answer).toBe('changed')
})
