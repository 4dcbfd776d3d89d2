import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'

/** A receiver whose handlers fail; every event has one attempt. */
async function failing() {
  const clock = fakeClock()
  const all = await receiving({ clock, retry: { attempts: 1 } })
  all.receiver.onAny(() => {
    throw new Error('the database is down')
  })
  return { ...all, clock }
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
