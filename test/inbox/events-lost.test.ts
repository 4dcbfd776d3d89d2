/** Events that a memory store still holds when the receiver closes are lost; the log and `onError` report the count. */
import { memoryStore, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'
import { post, receiving } from '../support/receiving.ts'

/** Accepts `count` callbacks whose handlers do not end, or fail, and closes. */
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
])('counts %s of them, in the text and in a field', async (count, says) => {
  const { lines, errors } = await closed(count)
  expect(lines).toMatchObject([{ level: 'error', fields: { code: 'events_lost', lost: count } }])
  expect(lines[0]?.text).toContain(`${says}, including those with running handlers.`)
  expect(errors).toMatchObject([{ code: 'events_lost', message: expect.stringContaining(says) as unknown }])
})

test('reports nothing when nothing was left', async () => {
  expect((await closed(0)).lines).toEqual([])
})

test('reports nothing for a durable store', async () => {
  const inner = memoryStore()
  const store = { ...inner, capabilities: { ...inner.capabilities, durable: true } }
  expect((await closed(3, { store })).lines).toEqual([])
})
