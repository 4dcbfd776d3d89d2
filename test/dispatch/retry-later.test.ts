/** A handler that asks to be called later has not failed: its event waits in the store and holds no concurrency slot. */
import { tracingChannel } from 'node:diagnostics_channel'
import { ATTEMPT_CHANNEL, HandlerError, RetryLater, type AttemptMessage } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

const LATER_MS = 10_000

describe.each(onEachStore)('%s', (_, makeStore) => {
  test('the handler runs again at its time, without an attempt, an error or a dead letter', async () => {
    const clock = fakeClock()
    const options = { store: makeStore(), clock, concurrency: 1, retry: { attempts: 1 } }
    const { receiver, url, errors } = await receiving(options)
    const calls: (readonly [atMs: number, attempt: number])[] = []
    const others: string[] = []
    receiver.on('message.delivered', ({ messageId }, { attempt }) => {
      if (messageId !== 'm') return
      calls.push([clock.now(), attempt])
      if (calls.length < 3) throw new RetryLater(LATER_MS)
    })
    receiver.on('message.delivered', async ({ messageId }) => void others.push(messageId))
    await receiver.start()
    await post(url, callback.smsDelivery({ messageId: 'm', status: 'success' }))
    await expect.poll(() => clock.advance(1).then(() => others)).toEqual(['m'])
    expect(await receiver.stats()).toMatchObject({ running: 0, unsettled: 1, deadLetters: 0 })
    // There is one slot, and it is free.
    await post(url, callback.smsDelivery({ messageId: 'other', status: 'success' }))
    await expect.poll(() => clock.advance(1).then(() => others)).toEqual(['m', 'other'])
    await clock.advance(LATER_MS - 1_000)
    expect(calls).toHaveLength(1)
    for (const times of [2, 3]) {
      await clock.advance(LATER_MS)
      await expect.poll(() => clock.advance(1).then(() => calls.length)).toBe(times)
    }
    await expect.poll(() => clock.advance(1).then(() => receiver.stats())).toMatchObject({ unsettled: 0 })
    expect(calls.map(([, attempt]) => attempt)).toEqual([1, 1, 1])
    const [first = 0, second = 0, third = 0] = calls.map(([atMs]) => atMs)
    expect(second - first).toBeGreaterThanOrEqual(LATER_MS)
    expect(third - second).toBeGreaterThanOrEqual(LATER_MS)
    // A handler that succeeded does not run again.
    expect(others).toEqual(['m', 'other'])
    // The clock leaps, so a store with a thread may look slow.
    expect(errors.filter((error) => error instanceof HandlerError)).toEqual([])
    expect(await receiver.stats()).toMatchObject({ deadLetters: 0, unsettled: 0 })
  })

  test('a failure of another handler of the event counts', async () => {
    const clock = fakeClock()
    const { receiver, url, errors } = await receiving({ store: makeStore(), clock, retry: { attempts: 1 } })
    receiver.onAny(() => Promise.reject(new RetryLater(1_000)))
    receiver.onAny(() => {
      throw new Error('mine')
    })
    await receiver.start()
    await post(url, callback.smsDelivery())
    await expect.poll(() => clock.advance(1).then(() => errors.map(({ code }) => code))).toContain('dead_letter')
  })
})

test('attempt observers are notified of the postponement', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock })
  const outcomes: unknown[] = []
  const attempts = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)
  const observe = (message: unknown): void => {
    const { receiver: of, outcome, error } = message as AttemptMessage
    if (of === receiver) outcomes.push([outcome, error])
  }
  const subscribers = { start() {}, end: observe, asyncStart() {}, asyncEnd() {}, error() {} }
  attempts.subscribe(subscribers)
  onTestFinished(() => attempts.unsubscribe(subscribers))
  let calls = 0
  receiver.onAny(() => {
    if ((calls += 1) === 1) throw new RetryLater(1_000)
  })
  await receiver.start()
  await post(url, callback.smsDelivery())
  await clock.advance(1_100)
  await expect
    .poll(() => clock.advance(1).then(() => outcomes))
    .toEqual([
      ['put off', undefined],
      ['succeeded', undefined],
    ])
})

test('rejects an invalid delay', () => {
  for (const delayMs of [0, -1, Number.NaN, Infinity, 2 ** 31])
    expect(() => new RetryLater(delayMs)).toThrow(/RetryLater/)
})
