/** `waitFor` finds past and future events, and lists the events that came instead. */
import { createReceiver } from 'messaging-webhooks'
import { callback, callbackFor, deliver, fakeClock, waitFor } from 'messaging-webhooks/testing'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const signingSecret = 'secret-of-the-tests'
/** Far longer than anything takes; reaching it is a failure. */
const ENOUGH = { timeoutMs: 20_000 }

function createTestReceiver() {
  return createReceiver({
    credentials: { signingSecret },
    schemas: { payment: z.object({ id: z.string(), amount: z.number() }) },
    retry: { attempts: 3, initialDelayMs: 1, maxDelayMs: 1 },
    ordering: { gapTimeoutMs: 0 },
    logger: false,
  })
}

let receiver: ReturnType<typeof createTestReceiver>
beforeEach(() => {
  receiver = createTestReceiver()
})
afterEach(() => receiver.close({ deadlineMs: 100 }))

async function post(kind: 'status' | 'payment', body: object): Promise<void> {
  expect((await deliver(receiver.middleware(kind), body, { signingSecret })).status).toBe(204)
}

test('an event that was handled before', async () => {
  await post('status', callback.smsDelivery({ messageId: 'm-1', status: 'network_failure' }))
  await post('status', callback.smsDelivery({ messageId: 'm-2' }))
  const event = await waitFor(receiver, 'message.failed', 'm-1', ENOUGH)
  expect(event).toMatchObject({ messageId: 'm-1', failure: { resend: true } })
  expectTypeOf(event.failure.resend).toEqualTypeOf<boolean>()
})

test('an event that is still to come', async () => {
  const waiting = waitFor(receiver, 'message.read', 'm-1', ENOUGH)
  await post('status', callbackFor('message.sent', { messageId: 'm-1' }))
  await post('status', callbackFor('message.read', { messageId: 'm-1' }))
  expect(await waiting).toMatchObject({ type: 'message.read', messageId: 'm-1' })
})

test('an event counts once its handlers have succeeded, after any number of attempts', async () => {
  const attempts: number[] = []
  receiver.on('message.delivered', (_, { attempt }) => {
    attempts.push(attempt)
    if (attempt < 3) throw new Error('not yet')
  })
  await post('status', callback.smsDelivery({ messageId: 'm-1' }))
  await waitFor(receiver, 'message.delivered', 'm-1', ENOUGH)
  expect(attempts).toEqual([1, 2, 3])
})

test('an event without a message id, by a field of its payload, or by its type alone; typed by the schema', async () => {
  await post('payment', callback.payment({ id: 'p-1', amount: 70 }))
  await post('payment', callback.payment({ id: 'p-2', amount: 80 }))
  const first = await waitFor(receiver, 'payment', 'p-1', ENOUGH)
  expectTypeOf(first.data.amount).toEqualTypeOf<number>()
  expect(first.data.amount).toBe(70)
  expect((await waitFor(receiver, 'payment', undefined, ENOUGH)).data.amount).toBe(80)
})

test('a late report, by the id of its message', async () => {
  const timestamp = Math.floor(Date.now() / 1_000)
  await post('status', callback.smsDelivery({ messageId: 'm-1', timestamp }))
  await waitFor(receiver, 'message.delivered', 'm-1', ENOUGH)
  await post('status', callbackFor('message.queued', { messageId: 'm-1', timestamp: timestamp - 60 }))
  expect(await waitFor(receiver, 'late', 'm-1', ENOUGH)).toMatchObject({
    messageId: 'm-1',
    report: { type: 'message.queued' },
  })
})

test('a receiver whose clock stands still', async () => {
  const clock = fakeClock()
  const still = createReceiver({ credentials: { signingSecret }, clock, logger: false })
  await deliver(still.middleware('status'), callback.smsDelivery({ messageId: 'm-1' }), { signingSecret })
  expect((await waitFor(still, 'message.delivered', 'm-1', ENOUGH)).messageId).toBe('m-1')
})

describe('an event that does not come', () => {
  const SOON = { timeoutMs: 100 }

  test('is reported without a list if nothing came', async () => {
    await expect(waitFor(receiver, 'message.read', 'm-1', SOON)).rejects.toMatchObject({
      code: 'wait_timed_out',
      detail: 'No message.read of m-1 was handled within 100 ms. No event was dispatched.',
    })
  })

  test('lists the events that came instead, only of this receiver', async () => {
    await post('status', callback.smsDelivery({ messageId: 'm-2' }))
    await post('payment', callback.payment({ amount: 5 }))
    await waitFor(receiver, 'payment', undefined, ENOUGH)
    const other = createTestReceiver()
    await deliver(other.middleware('status'), callback.smsDelivery({ messageId: 'm-1' }), { signingSecret })
    await waitFor(other, 'message.delivered', 'm-1', ENOUGH)
    await other.close()
    await expect(waitFor(receiver, 'message.delivered', 'm-1', SOON)).rejects.toThrow(
      'No message.delivered of m-1 was handled within 100 ms. Dispatched: message.delivered of m-2, payment.',
    )
  })

  test('may have come and failed', async () => {
    let calls = 0
    receiver.on('message.delivered', () => {
      calls += 1
      throw new Error('as ever')
    })
    await post('status', callback.smsDelivery({ messageId: 'm-1' }))
    await expect.poll(() => calls, { timeout: 30_000 }).toBe(3)
    await expect(waitFor(receiver, 'message.delivered', 'm-1', SOON)).rejects.toThrow(
      /Dispatched: (message\.delivered of m-1 \(a handler failed\)(, )?){3}\./,
    )
  })

  test('may have an unknown type', async () => {
    // @ts-expect-error: misspelt
    await expect(waitFor(receiver, 'message.deliverd', 'm-1')).rejects.toMatchObject({ code: 'pattern_unknown' })
  })
})
