/** What a store in memory still holds when the receiver has closed is lost: how many, in the log and for `onError`. */
import { memoryStore, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'
import { post, receiving } from '../support/receiving.ts'
import { brokenStore } from '../support/stores.ts'

/** Takes `count` callbacks whose handlers do not end, or fail, and closes. */
async function closed(
  count: number,
  { store = memoryStore(), how = 'hang' }: { store?: Store; how?: 'hang' | 'fail' } = {},
) {
  const clock = fakeClock()
  const { logger, of } = logging()
  const { receiver, server, url, errors } = await receiving({ clock, store, logger, spool: false, concurrency: 2 })
  receiver.onAny(() => {
    if (how === 'fail') throw new Error('down')
    return new Promise(() => {})
  })
  for (let sent = 0; sent < count; sent += 1) expect((await post(url, callback.smsDelivery())).status).toBe(204)
  server.closeAllConnections()
  server.close()
  await letTimePass(clock, receiver.close({ deadlineMs: 1_000 }))
  return { lines: of('events_lost'), errors: errors.filter(({ code }) => code === 'events_lost') }
}

test.each([
  [5, '5 events were lost'],
  [1, '1 event was lost'],
])('%s of them are counted, in the text and in a field', async (count, says) => {
  const { lines, errors } = await closed(count)
  expect(lines).toMatchObject([{ level: 'error', fields: { code: 'events_lost', lost: count } }])
  expect(lines[0]?.text).toContain(`${says}, including those with running handlers.`)
  expect(errors).toMatchObject([{ code: 'events_lost', message: expect.stringContaining(says) as unknown }])
})

test('what waits for its next attempt is lost, too', async () => {
  expect((await closed(3, { how: 'fail' })).lines).toMatchObject([{ fields: { lost: 3 } }])
})

test('nothing is said where nothing was left', async () => {
  expect((await closed(0)).lines).toEqual([])
})

test('nor of a store that keeps what it has', async () => {
  const inner = memoryStore()
  const store = { ...inner, capabilities: { ...inner.capabilities, durable: true } }
  expect((await closed(3, { store })).lines).toEqual([])
})

test('a store that does not say how many loses no one knows how many', async () => {
  const counts = (): never => {
    throw new Error('gone')
  }
  const { lines } = await closed(2, { store: brokenStore({ counts }) })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.fields).not.toHaveProperty('lost')
  expect(lines[0]?.text).toContain('The number of lost events is unknown.')
})
