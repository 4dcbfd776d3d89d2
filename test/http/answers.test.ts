/** When an answer is sent: after the store, and with `answer: 'handled'` after the first attempt of the handlers. */
import { createServer } from 'node:http'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { listen, post, receiving, withCredentials } from '../support/receiving.ts'
import { lastingStore } from '../support/stores.ts'

test('sends the answer before a handler of its event begins', async () => {
  const receiver = createReceiver(withCredentials({ logger: false }))
  const seen: string[] = []
  receiver.on('message.*', ({ messageId }) => void seen.push(`handled ${messageId}`))
  const middleware = receiver.middleware('status')
  const server = createServer((request, response) => {
    response.on('finish', () => void seen.push('answered'))
    middleware(request, response)
  })
  const url = await listen(server)
  onTestFinished(async () => {
    server.close()
    await receiver.close()
  })
  await receiver.start()
  const ids = ['m-1', 'm-2', 'm-3', 'm-4']
  for (const messageId of ids) {
    expect((await post(url, callback.smsDelivery({ messageId }))).status).toBe(204)
    await receiver.drain()
  }
  expect(seen).toEqual(ids.flatMap((messageId) => ['answered', `handled ${messageId}`]))
})

test('with answer: handled it waits for the first attempt, and a failure is still 204', async () => {
  const { receiver, url } = await receiving({ answer: 'handled' })
  const attempts: number[] = []
  receiver.onAny(async (_event, { attempt }) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    attempts.push(attempt)
    throw new Error('not yet')
  })
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  expect(attempts).toEqual([1])
})

test('with answer: handled a chat-app state is answered after its reorder wait', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock, answer: 'handled' })
  const statuses: (string | undefined)[] = []
  receiver.on('message.*', ({ status }) => void statuses.push(status))
  const answer = post(url, callback.chatApp({ statuses: { status: 'delivered' } }))
  await expect.poll(async () => (await receiver.stats()).unsettled).toBe(1)
  expect(statuses).toEqual([])
  await clock.advance(1_000)
  expect((await answer).status).toBe(204)
  expect(statuses).toEqual(['delivered'])
})

test('with answer: handled a hung handler delays the answer for handlerTimeoutMs at most', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock, answer: 'handled', handlerTimeoutMs: 5_000 })
  receiver.onAny(() => new Promise(() => {}))
  const answer = post(url, callback.smsDelivery())
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  await clock.advance(5_000)
  expect((await answer).status).toBe(204)
})

test('with answer: handled closing delays nothing that waits or arrives meanwhile', async () => {
  const ordering = { gapTimeoutMs: 60_000 }
  const { receiver, server, url } = await receiving({ answer: 'handled', ordering, store: await lastingStore() })
  await post(url, callback.smsDelivery())
  // It waits out the reorder wait of its message, and then only for the close.
  const waiting = post(url, callback.chatApp({ statuses: { status: 'read' } }))
  await expect.poll(async () => (await receiver.stats()).unsettled).toBe(1)
  const closed = receiver.close()
  expect((await waiting).status).toBe(204)
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  server.close()
  server.closeAllConnections()
  await closed
})
