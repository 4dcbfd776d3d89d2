import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

test('delays stay below a ceiling that doubles up to maxDelayMs, and are spread below it', async () => {
  const clock = fakeClock()
  const retry = { attempts: 8, initialDelayMs: 1_000, maxDelayMs: 10_000 }
  const { receiver, url } = await receiving({ clock, retry, concurrency: 100 })
  const attemptedAt = new Map<string, number[]>()
  receiver.onAny(({ id }) => {
    attemptedAt.set(id, [...(attemptedAt.get(id) ?? []), clock.now()])
    throw new Error('never')
  })
  for (let message = 0; message < 30; message += 1) await post(url, callback.smsDelivery())
  await clock.advance(120_000)
  expect(attemptedAt.size).toBe(30)
  const ceilings = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]
  const fractions: number[] = []
  for (const times of attemptedAt.values()) {
    expect(times).toHaveLength(8)
    for (const [index, ceiling] of ceilings.entries()) {
      const delay = (times[index + 1] ?? NaN) - (times[index] ?? NaN)
      expect(delay).toBeGreaterThanOrEqual(0)
      expect(delay).toBeLessThanOrEqual(ceiling)
      fractions.push(delay / ceiling)
    }
  }
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length
  expect(mean).toBeGreaterThan(0.35)
  expect(mean).toBeLessThan(0.65)
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 30 })
})

test('with the defaults an event has fifteen attempts within about an hour and a half at most', async () => {
  const clock = fakeClock()
  const { receiver, url, errors } = await receiving({ clock })
  let calls = 0
  receiver.onAny(() => {
    calls += 1
    throw new Error('never')
  })
  await post(url, callback.smsDelivery())
  await clock.advance(5 * 3_600_000)
  expect(calls).toBe(15)
  expect(errors.map(({ code }) => code)).toEqual([...Array<string>(15).fill('handler_failed'), 'dead_letter'])
})

test('while an event is being retried, later ones of its message wait, and other messages do not', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock, networks: { 'carrier-a': 'carrierA' } })
  const handled: string[] = []
  receiver.on('message.*', ({ messageId, status }, { attempt }) => {
    if (status === 'queued' && attempt < 3) throw new Error('not yet')
    handled.push(`${messageId} ${status}`)
  })
  const timestamp = Math.floor(clock.now() / 1_000)
  await post(url, callback.smsDelivery({ messageId: 'one', status: 'queued', timestamp }))
  await clock.advance(0)
  await post(url, callback.smsDelivery({ messageId: 'one', status: 'success', timestamp: timestamp + 1 }))
  await post(url, callback.smsDelivery({ messageId: 'two', status: 'success' }))
  await clock.advance(0)
  expect(handled).toEqual(['two success'])
  await clock.advance(10_000)
  expect(handled).toEqual(['two success', 'one queued', 'one success'])
})

test('a retry that is due in a month keeps its due time', async () => {
  const clock = fakeClock()
  const month = 2 ** 31 - 1
  const retry = { attempts: 2, initialDelayMs: month, maxDelayMs: month }
  const { receiver, url } = await receiving({ clock, retry })
  let calls = 0
  receiver.onAny(() => {
    calls += 1
    throw new Error('never')
  })
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(calls).toBe(1)
  await clock.advance(month)
  expect(calls).toBe(2)
})
