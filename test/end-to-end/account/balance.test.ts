/** The sums that an account is held against, where they can be worked out by hand. */
import type { Delivery, SendRecord } from 'messaging-webhooks/emulator'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { accountOf, balanceOf } from './balance.ts'
import { PATIENT } from './sending.ts'

const AT = 1_800_000_000

function send(
  messageId: string,
  more: { fault?: SendRecord['fault']; to?: string; statusCode?: string } = {},
): SendRecord {
  const { fault, to = '254711', statusCode = '11' } = more
  const recipient = { messageId, to, status: '', statusCode, messagePart: 1, type: 'bulk' }
  const about = { atMs: 0, method: 'POST', project: 'My Shop', channel: 'sms', httpStatus: 200, refusal: undefined }
  return { ...about, fault, recipients: [recipient] }
}

function delivery(payload: Delivery['payload'], intact = true): Delivery {
  const about = { kind: 'status', project: 'My Shop', url: 'http://127.0.0.1/', sentAtMs: 0, tookMs: 0 } as const
  return { ...about, payload, faults: [], intact, sent: true, status: intact ? 204 : 401 }
}

const sms = (messageId: string, status: string, seconds = 0, intact = true): Delivery =>
  delivery(callback.smsDelivery({ messageId, status, timestamp: AT + seconds }), intact)
const chat = (message_id: string, status: string): Delivery =>
  delivery(callback.chatApp({ statuses: { message_id, status } }))

test.each([
  ['delivered', [sms('m', 'success')], { delivered: 1 }],
  ['failed for good', [sms('m', 'delivery_impossible')], { failed: { delivery_impossible: 1 } }],
  ['a word of a carrier', [sms('m', 'do_not_disturb')], { failed: { carrier_word: 1 } }],
  ['failed for now', [sms('m', 'network_failure')], { failed: { network_failure: 1 } }],
  ['delivered after all', [sms('m', 'success', 1), sms('m', 'network_failure')], { delivered: 1 }],
  ['a success hides no failure', [sms('m', 'failed'), sms('m', 'success', 1)], { failed: { failed: 1 } }],
  ['read', [chat('m', 'read'), chat('m', 'delivered')], { read: 1 }],
  ['sent alone', [chat('m', 'sent')], { overdue: 1 }],
  ['a report that was not taken', [sms('m', 'success', 0, false)], { overdue: 1 }],
  ['no report', [], { overdue: 1 }],
])('%s', (_what, deliveries, counts) => {
  const none = { sent: 1, delivered: 0, read: 0, failed: {}, overdue: 0, waiting: 0, refused: {} }
  expect(accountOf(balanceOf([send('m')], deliveries))).toMatchObject({ ...none, ...counts })
})

test('counts what the client was told of, and nothing else', () => {
  const sends = [
    send('late', { fault: 'lateAnswer' }),
    send('lost', { fault: 'noAnswer' }),
    send('patient', { to: `${PATIENT}1` }),
    send('refused', { statusCode: '12' }),
  ]
  const counts = { sent: 3, overdue: 1, waiting: 1, refused: { unsupported_number: 1 } }
  expect(accountOf(balanceOf(sends, []))).toMatchObject(counts)
})

test.each([
  ['the repetition was delivered', [sms('m', 'network_failure'), sms('again', 'success')], { delivered: 1 }],
  ['the repetition failed', [sms('m', 'network_failure'), sms('again', 'failed')], { failed: { failed: 1 } }],
  ['the first one was delivered after all', [sms('m', 'success'), sms('again', 'failed')], { delivered: 1 }],
  ['nothing is known of the repetition', [sms('m', 'network_failure')], { overdue: 1 }],
])('a message and its repetition count as one: %s', (_what, deliveries, counts) => {
  const none = { sent: 1, delivered: 0, read: 0, failed: {}, overdue: 0, waiting: 0, refused: {} }
  const repetitions = new Map([['m', 'again']])
  const messages = balanceOf([send('m'), send('again')], deliveries)
  expect(accountOf(messages, { repetitions })).toMatchObject({ ...none, ...counts })
})
