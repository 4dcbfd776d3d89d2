import http from 'node:http'
import connect from 'connect'
import express, { type Express } from 'express'
import express4 from 'express4'
import type { Middleware } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { receiving, SIGNING_SECRET } from '../support/receiving.ts'

/** Each way to mount the middleware; it answers `/status`. */
const MOUNTS: Readonly<Record<string, (middleware: Middleware) => http.RequestListener | Express>> = {
  Connect: (middleware) => connect().use('/status', middleware),
  'app.post': (middleware) => express().post('/status', middleware),
  'a Router': (middleware) => express().use(express.Router().use('/status', middleware)),
  'app.use of Express 4': (middleware) => express4().use('/status', middleware),
  'app.post of Express 4': (middleware) => express4().post('/status', middleware),
}

describe.each(Object.entries(MOUNTS))('mounted by %s', (_name, mount) => {
  test('proves a callback with odd white space over its exact bytes and dispatches it', async () => {
    const { receiver } = await receiving()
    const delivered: string[] = []
    receiver.on('message.delivered', ({ messageId }) => void delivered.push(messageId))
    const body = `{ "messageId" : "one",\n\t"channel":"sms", "status":"success" , "timestamp":1700000000 }\n`
    const response = await supertest(mount(receiver.middleware('status')))
      .post('/status')
      .set('content-type', 'application/json')
      .set('x-service-signature', signCallback(body, SIGNING_SECRET))
      .send(body)
    await receiver.drain()
    expect(response.status).toBe(204)
    expect(response.text).toBe('')
    expect(delivered).toEqual(['one'])
  })
})

test('one receiver serves several URLs, each with its own kind', async () => {
  const { receiver } = await receiving()
  const types: string[] = []
  receiver.onAny(({ type }) => void types.push(type))
  const app = express()
  const bodies = {
    status: callback.chatApp({ statuses: { status: 'sent' } }),
    received: callback.received(),
    payment: callback.payment(),
    subscription: callback.subscription(),
  } as const
  for (const kind of ['status', 'received', 'payment', 'subscription'] as const) {
    app.use(`/${kind}`, receiver.middleware(kind))
    const body = JSON.stringify(bodies[kind])
    const request = supertest(app).post(`/${kind}`).set('x-service-signature', signCallback(body, SIGNING_SECRET))
    expect((await request.set('content-type', 'application/json').send(body)).status).toBe(204)
  }
  await receiver.drain()
  expect(types).toEqual(['message.sent', 'received', 'payment', 'subscription.activate'])
})
