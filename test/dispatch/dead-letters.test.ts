import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

/** A receiver whose handlers fail until `repair` is called; every event has one attempt. */
async function failing() {
  const clock = fakeClock()
  const receiving_ = await receiving({ clock, retry: { attempts: 1 } })
  const { receiver } = receiving_
  const handled: unknown[] = []
  let broken = true
  receiver.onAny((event, { attempt, replay }) => {
    if (broken) throw new Error('the database is down')
    const { type } = event
    const status = 'status' in event ? event.status : type === 'late' ? event.report.status : undefined
    handled.push({ type, status, attempt, replay })
  })
  const repair = (): void => void (broken = false)
  return { ...receiving_, clock, handled, repair }
}

test('keeps an event that failed in every attempt with its error, and notifies onError', async () => {
  const { receiver, url, clock, errors } = await failing()
  await post(url, callback.smsDelivery({ messageId: 'one' }))
  await clock.advance(0)
  const { items, next } = await receiver.deadLetters.list()
  expect(next).toBeUndefined()
  expect(items).toHaveLength(1)
  const [letter] = items
  expect(letter).toMatchObject({ attempts: 1, diedAt: new Date(clock.now()) })
  expect(letter?.error).toContain('Error: the database is down')
  expect(letter?.error).toContain(import.meta.filename)
  expect(letter?.event).toMatchObject({ id: letter?.id, type: 'message.delivered', messageId: 'one' })
  expect(errors).toMatchObject([
    { code: 'handler_failed', name: 'HandlerError', eventId: letter?.id, eventType: 'message.delivered', attempt: 1 },
    {
      code: 'dead_letter',
      name: 'HandlerError',
      eventId: letter?.id,
      attempt: 1,
      cause: new Error('the database is down'),
    },
  ])
})

test('finds a dead letter by its id, whatever page it is on, and nothing for an invalid id', async () => {
  const { receiver, url, clock } = await failing()
  for (let n = 0; n < 103; n += 1) await post(url, callback.smsDelivery({ messageId: `m-${n}` }))
  await clock.advance(0)
  const { items } = await receiver.deadLetters.list({ limit: 1_000 })
  expect(items).toHaveLength(103)
  expect(await receiver.deadLetters.get(items[102]?.id ?? '')).toEqual(items[102])
  expect(await receiver.deadLetters.get('0'.repeat(32))).toBeUndefined()
})

describe('replay', () => {
  test('waits for the running event of its message', async () => {
    const { receiver, url, clock, handled, repair } = await failing()
    const timestamp = Math.floor(clock.now() / 1_000)
    await post(url, callback.smsDelivery({ messageId: 'one', status: 'queued', timestamp }))
    await clock.advance(0)
    repair()
    let finish = (): void => {}
    receiver.on('message.delivered', () => new Promise<void>((resolve) => (finish = resolve)))
    await post(url, callback.smsDelivery({ messageId: 'one', status: 'success', timestamp }))
    await clock.advance(0)
    const [letter] = (await receiver.deadLetters.list()).items
    await receiver.deadLetters.replay(letter?.id ?? '')
    await clock.advance(0)
    expect(handled).toHaveLength(1)
    finish()
    await clock.advance(0)
    expect(handled).toHaveLength(2)
  })
})

test('a discarded dead letter is no longer listed, and never runs again', async () => {
  const { receiver, url, clock, handled, repair } = await failing()
  const report = callback.smsDelivery({ messageId: 'one' })
  await post(url, report)
  await clock.advance(0)
  const [letter] = (await receiver.deadLetters.list()).items
  repair()
  expect(await receiver.deadLetters.discard(letter?.id ?? '')).toBe(true)
  expect(await receiver.deadLetters.list()).toEqual({ items: [] })
  expect(await receiver.deadLetters.replay(letter?.id ?? '')).toBe(false)
  expect(await receiver.deadLetters.discard(letter?.id ?? '')).toBe(false)
  await post(url, report)
  await clock.advance(60_000)
  expect(handled).toEqual([])
  expect(await receiver.stats()).toMatchObject({ duplicates: 1, deadLetters: 0, unsettled: 0 })
})
