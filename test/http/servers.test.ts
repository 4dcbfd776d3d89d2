import http from 'node:http'
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, listen, post, SIGNING_SECRET } from '../support/receiving.ts'

function logging() {
  const lines: { readonly code: unknown; readonly text: string }[] = []
  const log = (fields: object, text: string): void => void lines.push({ code: Reflect.get(fields, 'code'), text })
  return { lines, logger: { debug: log, info: log, warn: log, error: log } }
}

async function serving(keepAliveTimeout: number) {
  const { lines, logger } = logging()
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }, logger })
  const server = http.createServer({ keepAliveTimeout }, receiver.middleware('status'))
  const url = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { receiver, server, url, lines }
}

test('a short keepAliveTimeout is warned of once', async () => {
  const { url, lines } = await serving(5_000)
  for (let time = 0; time < 3; time += 1) await post(url, callback.smsDelivery())
  expect(lines).toEqual([{ code: 'keep_alive_short', text: expect.stringContaining('5000 ms') as unknown }])
  expect(lines[0]?.text).toContain('server.keepAliveTimeout = 75_000')
})

test.each([75_000, 0])('a keepAliveTimeout of %s is not', async (keepAliveTimeout) => {
  const { url, lines } = await serving(keepAliveTimeout)
  await post(url, callback.smsDelivery())
  expect(lines).toEqual([])
})

test('close() goes on taking callbacks until the server has closed, and no answer is 503', async () => {
  const { receiver, server, url } = await serving(75_000)
  let release = (): void => {}
  let begun = (): void => {}
  const running = new Promise<void>((resolve) => (begun = resolve))
  receiver.onAny(() => {
    begun()
    return new Promise<void>((resolve) => (release = resolve))
  })
  await post(url, callback.smsDelivery())
  await running
  const closed = receiver.close()
  for (let time = 0; time < 5; time += 1) expect((await post(url, callback.smsDelivery())).status).toBe(204)
  release()
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  server.close()
  await closed
  expect(server.listening).toBe(false)
})

test('while closing, each answer closes its connection', async () => {
  const { receiver, server, url } = await serving(75_000)
  await post(url, callback.smsDelivery())
  const closed = receiver.close()
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY }))
  const response = await fetch(url, { method: 'POST', body })
  expect([response.status, response.headers.get('connection')]).toEqual([204, 'close'])
  server.close()
  await closed
})

test('close() gives up on a server that stays open, and says what that costs', async () => {
  const { receiver, url, lines } = await serving(75_000)
  await post(url, callback.smsDelivery())
  await receiver.close({ deadlineMs: 50 })
  expect(lines).toMatchObject([{ code: 'server_still_open' }])
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(lines).toMatchObject([{}, { code: 'receiver_closed' }])
})

test('close() may be called twice', async () => {
  const { receiver, server, url, lines } = await serving(75_000)
  await post(url, callback.smsDelivery())
  server.close()
  server.closeAllConnections()
  await Promise.all([receiver.close({ deadlineMs: 500 }), receiver.close({ deadlineMs: 500 })])
  expect(lines).toEqual([])
})
