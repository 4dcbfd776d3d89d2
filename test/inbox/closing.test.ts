/** Closing an inbox: a store that fails to close, and events that a memory store still holds, which are lost and counted. */
import { memoryStore } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { callback } from 'messaging-webhooks/testing'
import { receiving, post } from '../support/receiving.ts'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'

test('reports a store that fails to close, and closes the receiver anyway', async () => {
  const inner = memoryStore()
  const { receiver, errors } = await receiving({
    store: {
      capabilities: inner.capabilities,
      async open(host) {
        const close = (): never => {
          throw new Error('The store is unavailable.')
        }
        return { ...(await inner.open(host)), close }
      },
    },
  })
  await receiver.start()
  await receiver.close({ deadlineMs: 100 })
  expect(errors).toMatchObject([{ code: 'store_failed', cause: { message: 'The store is unavailable.' } }])
})

/** Accepts `count` callbacks whose handlers do not end, and closes. */
async function closed(count: number, store = memoryStore()) {
  const clock = fakeClock()
  const { logger, of } = logging()
  const { receiver, server, url, errors } = await receiving({ clock, store, logger, spool: false, concurrency: 2 })
  receiver.onAny(() => new Promise(() => {}))
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
  expect((await closed(3, store)).lines).toEqual([])
})
