/** The clock for users' tests: it stands still until it is advanced. */
import { createReceiver } from 'messaging-webhooks'
import { callback, deliver, fakeClock } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'

const signingSecret = 'secret-of-the-tests'

test('starts at the given time, and advances by the given amount', async () => {
  const clock = fakeClock(new Date('2026-01-01T00:00:00Z'))
  expect(clock.now()).toBe(Date.UTC(2026, 0, 1))
  await clock.advance(1_500)
  expect(clock.now()).toBe(Date.UTC(2026, 0, 1) + 1_500)
})

test('timers fire in order, each at its time, and cancelled ones do not', async () => {
  const clock = fakeClock(0)
  const fired: string[] = []
  clock.setTimer(() => fired.push(`late ${clock.now()}`), 300)
  clock.setTimer(() => {
    fired.push(`early ${clock.now()}`)
    clock.setTimer(() => fired.push(`after early ${clock.now()}`), 50)
  }, 100)
  clock.setTimer(() => fired.push('never'), 200)()
  await clock.advance(1_000)
  expect(fired).toEqual(['early 100', 'after early 150', 'late 300'])
})

test('a signature is stale, and a retry is due, by this clock', async () => {
  const clock = fakeClock()
  const receiver = createReceiver({
    credentials: { signingSecret },
    retry: { attempts: 2, initialDelayMs: 3_600_000 },
    clock,
    logger: false,
  })
  const attempts: number[] = []
  receiver.on('message.delivered', (_, { attempt }) => {
    attempts.push(attempt)
    if (attempt === 1) throw new Error('once')
  })
  const timestamp = Math.floor(clock.now() / 1_000)
  const send = () => deliver(receiver.middleware('status'), callback.smsDelivery(), { signingSecret, timestamp })
  expect((await send()).status).toBe(204)
  await clock.advance(0)
  expect(attempts).toEqual([1])
  await clock.advance(3_600_000)
  expect(attempts).toEqual([1, 2])
  expect((await send()).status).toBe(401)
})
