/** Every event type has a callback that causes it, verified by a receiver. */
import { createReceiver, EVENT_TYPES } from 'messaging-webhooks'
import { callbackFor, deliver, waitFor } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { CALLBACKS } from '../../src/testing/callbacks.ts'

const signingSecret = 'secret-of-the-tests'
const TYPES = EVENT_TYPES.filter((type) => type !== 'late' && type !== 'send.overdue' && type !== 'send.unknown')

test('covers every event type that one callback can cause', () => {
  expect(Object.keys(CALLBACKS).sort()).toEqual([...TYPES].sort())
})

describe.each(TYPES)('%s', (type) => {
  test('results from its callback', async () => {
    const receiver = createReceiver({ credentials: { signingSecret }, ordering: { gapTimeoutMs: 0 }, logger: false })
    const { kind } = CALLBACKS[type]
    const answer = await deliver(receiver.middleware(kind), callbackFor(type), { signingSecret })
    expect(answer.status).toBe(204)
    expect((await waitFor(receiver, type, undefined, { timeoutMs: 20_000 })).type).toBe(type)
    await receiver.close()
  })
})

test.each(['message.delivered', 'message.read'] as const)('custom fields, in any shape: %s', async (type) => {
  const receiver = createReceiver({ credentials: { signingSecret }, ordering: { gapTimeoutMs: 0 }, logger: false })
  const body = callbackFor(type, { messageId: 'm-1', project: 'Another', extra: 1 })
  await deliver(receiver.middleware('status'), body, { signingSecret })
  const event = await waitFor(receiver, type, 'm-1', { timeoutMs: 20_000 })
  expect(event).toMatchObject({ messageId: 'm-1', project: 'Another', payload: { extra: 1 } })
  await receiver.close()
})

test('fields of the `statuses` object are merged into it', () => {
  expect(callbackFor('message.sent', { statuses: { recipient: '254722000000' } })).toMatchObject({
    statuses: { status: 'sent', recipient: '254722000000', type: 'status' },
  })
})
