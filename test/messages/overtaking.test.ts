/** The decisions about a report that overtakes the answer to its send and waits for it, as functions. */
import { describe, expect, test } from 'vitest'
import { pendingMark, type Lease } from '../../src/messages/record.ts'
import {
  awaitAnswer,
  endSend,
  expect as expectSend,
  leasesOvertaking,
  MOST_PENDING_MS,
  waitsForAnswerUntil,
} from '../../src/messages/sends.ts'
import { message } from './message.ts'
import { NOW_MS } from './records.ts'

const HOUR_MS = 3_600_000
const sent = { sentAtMs: NOW_MS, overdueAtMs: NOW_MS + HOUR_MS, expectation: { sentAtMs: NOW_MS } }
const begun = { ...sent.expectation, recipients: 1, overdueAtMs: NOW_MS + 120_000 }
const A_SECOND_MS = 1_000

/** A message with one leased report. */
function leased(at = 5, nowMs = NOW_MS) {
  const one = message()
  one.admit(at)
  const entry = one.lease(nowMs)
  const lease: Lease | undefined = one.record?.lease
  if (entry === undefined || lease === undefined) throw new Error('It was due.')
  return { one, claimed: { entry, lease, send: one.record?.send } }
}

describe('whether a report waits', () => {
  test('for a send that was pending before it came, as long as its message is not expected', () => {
    const { one, claimed } = leased()
    expect(leasesOvertaking(undefined, one.record ?? fail())).toBe(true)
    const asked = (pendingSinceMs: number | undefined, nowMs = NOW_MS, more = {}): number | undefined =>
      waitsForAnswerUntil({ ...claimed, ...more }, pendingSinceMs, nowMs)
    expect(asked(undefined)).toBeUndefined()
    expect(asked(NOW_MS - 1)).toBe(NOW_MS + 250)
    // The clocks of two processes differ by less.
    expect(asked(NOW_MS + A_SECOND_MS)).toBe(NOW_MS + 250)
    expect(asked(NOW_MS + 3 * A_SECOND_MS)).toBeUndefined()
    // Doubles the wait so far, up to the deadline of the send.
    expect(asked(NOW_MS - 1, NOW_MS + 4 * A_SECOND_MS)).toBe(NOW_MS + 8 * A_SECOND_MS)
    expect(asked(NOW_MS - 1, NOW_MS + 20 * A_SECOND_MS)).toBe(NOW_MS - 1 + MOST_PENDING_MS)
    const { entry } = claimed
    expect(asked(NOW_MS, NOW_MS, { entry: { ...entry, attempts: 2 } }), 'a retry').toBeUndefined()
    expect(asked(NOW_MS, NOW_MS, { entry: { ...entry, replay: true } })).toBeUndefined()
    expect(asked(NOW_MS, NOW_MS, { entry: { ...entry, order: '' } }), 'of no message').toBeUndefined()
    const send = { ...sent, wasOverdue: false }
    expect(asked(NOW_MS, NOW_MS, { send })).toBeUndefined()
    expect(leasesOvertaking(one.record, one.record ?? fail()), 'no new lease').toBe(false)
  })

  test('a send is pending from its start to its answer, by the store’s clock', () => {
    const one = message()
    const mark = (): number | undefined => one.record && pendingMark(one.record)
    const aheadMs = 5 * HOUR_MS
    one.apply((known) =>
      expectSend(known, { ...sent, expectation: begun, overdueAtMs: NOW_MS + 120_000 + aheadMs }, NOW_MS),
    )
    expect(mark()).toBe(NOW_MS + aheadMs)
    one.apply((known) => endSend(known, { sentAtMs: NOW_MS, recipients: 0 }))
    expect(mark()).toBeUndefined()
    const other = message()
    other.apply((known) => expectSend(known, sent, NOW_MS))
    expect(other.record && pendingMark(other.record), 'a message').toBeUndefined()
  })
})

describe('a report that waits', () => {
  test('counts as not leased, and is due as soon as its message is expected', () => {
    const { one, claimed } = leased()
    expect(one.admit(3), 'older than what is leased').toBe('late')
    expect(one.apply((known) => awaitAnswer(known, claimed, NOW_MS + 250))).toBe(true)
    expect(one.record).toMatchObject({ lease: undefined, dispatchedUpTo: '' })
    expect(one.record?.waiting).toMatchObject([
      { id: 'event-3', late: false },
      { id: 'event-5', late: false, attempts: 0, token: 0, dueMs: NOW_MS + 250 },
    ])
    one.apply((known) => expectSend(known, sent, NOW_MS + 1))
    expect(one.record?.waiting.map(({ dueMs }) => dueMs)).toEqual([NOW_MS, NOW_MS + 1])
    const first = one.lease(NOW_MS + 1)
    one.done(first?.id ?? '', first?.token ?? 0)
    expect(one.lease(NOW_MS + 1)).toMatchObject({ id: 'event-5', attempts: 1 })
    expect(one.done('event-5', claimed.entry.token), 'the lease that was taken back').toBe(false)
  })

  test('is due at once if its message was expected meanwhile', () => {
    const { one, claimed } = leased()
    one.apply((known) => expectSend(known, sent, NOW_MS))
    expect(one.apply((known) => awaitAnswer(known, claimed, NOW_MS + 250))).toBe(true)
    expect(one.lease()).toMatchObject({ id: 'event-5', attempts: 1 })
  })

  test('is left to the worker that has leased it since', () => {
    const { one, claimed } = leased()
    const others = { ...claimed, lease: { ...claimed.lease, worker: 'other' } }
    expect(one.apply((known) => awaitAnswer(known, others, NOW_MS + 250))).toBe(false)
    expect(one.record?.lease).toMatchObject({ worker: 'w' })
  })
})

function fail(): never {
  throw new Error('There is no record.')
}
