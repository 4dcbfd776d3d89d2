/** The soak's own judge: it sees each wrong that it is there to see. */
import type { Delivery } from 'messaging-webhooks/emulator'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { judge, nameOf, type Handed } from './verdict.ts'

const CLEAN = { lost: [], twice: [], changed: [], unasked: [], backwards: [], wronglyLate: [] }
const AT = 1_800_000_000

function delivery(payload: Delivery['payload'], intact = true): Delivery {
  const about = { kind: 'status', project: 'My Shop', url: 'http://127.0.0.1/', sentAtMs: 0, tookMs: 0 } as const
  return { ...about, payload, faults: [], intact, sent: true, status: intact ? 204 : 401 }
}

const queued = callback.smsDelivery({ messageId: 'm', status: 'queued', timestamp: AT + 1 })
const success = callback.smsDelivery({ messageId: 'm', status: 'success', timestamp: AT + 1 })
const failed = callback.smsDelivery({ messageId: 'm', status: 'failed', timestamp: AT })

function handed(payload: Delivery['payload'], late = false): Handed {
  const stage = payload['status'] === 'queued' ? 0 : 3
  return {
    name: nameOf(payload),
    message: 'm',
    place: { timestamp: Number(payload['timestamp']), stage },
    late,
    payload,
  }
}

const sent = [delivery(queued), delivery(success), delivery(failed)]
const name = { queued: nameOf(queued), success: nameOf(success), failed: nameOf(failed) }

test('all that was sent intact, once and in order, is clean', () => {
  expect(judge(sent, [handed(failed), handed(queued), handed(success)])).toEqual(CLEAN)
  expect(judge(sent, [handed(success), handed(failed), handed(queued, true)])).toEqual(CLEAN)
})

test.each([
  ['lost', [handed(failed), handed(success)], { lost: [name.queued] }],
  ['twice', [handed(failed), handed(queued), handed(success), handed(success)], { twice: [name.success] }],
  ['backwards', [handed(failed), handed(success), handed(queued)], { backwards: [name.queued] }],
  ['late without reason', [handed(failed, true), handed(queued), handed(success)], { wronglyLate: [name.failed] }],
])('what is %s is seen', (_what, order, wrong) => {
  expect(judge(sent, order)).toEqual({ ...CLEAN, ...wrong })
})

test('what is changed is seen', () => {
  const other = { ...handed(queued), payload: { ...queued, network: 'carrier-b' } }
  expect(judge(sent, [handed(failed), other, handed(success)])).toEqual({ ...CLEAN, changed: [name.queued] })
})

test('what was handed over though it was never sent intact is seen', () => {
  expect(judge([delivery(queued, false)], [handed(queued)])).toEqual({ ...CLEAN, unasked: [name.queued] })
})
