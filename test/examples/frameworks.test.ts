/** The examples of frameworks without an adapter: each meets the contract of every adapter. */
import http from 'node:http'
import { text } from 'node:stream/consumers'
import express from 'express'
import { H3, toNodeHandler } from 'h3'
import Koa from 'koa'
import { createReceiver } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { azureHandler } from '../../examples/frameworks/azure-functions.ts'
import { googleHandler } from '../../examples/frameworks/google-cloud-functions.ts'
import { h3App } from '../../examples/frameworks/h3.ts'
import { koaApp } from '../../examples/frameworks/koa.ts'
import { adapterCases } from '../http/adapters/cases.ts'
import { onNode } from '../http/adapters/on-node.ts'
import { watched } from '../http/adapters/watched.ts'
import { listen, withCredentials } from '../support/receiving.ts'
import { keyedText, reportText, request, signatureOf } from '../support/wire.ts'

function onKoa(app: Koa): http.RequestListener {
  const answer = app.callback()
  return (incoming, response) => void answer(incoming, response)
}

adapterCases('Koa', {
  start: onNode((receiver) => onKoa(koaApp(receiver))),
  parser: {
    start: onNode((receiver) => {
      const app = new Koa().use(async (context, next) => {
        await text(context.req)
        await next()
      })
      app.middleware.push(...koaApp(receiver).middleware)
      return onKoa(app)
    }),
    code: 'body_already_read',
    says: 'before anything that reads the body',
  },
})

adapterCases('h3', {
  start: onNode((receiver) => toNodeHandler(h3App(receiver))),
  parser: {
    start: onNode((receiver) =>
      toNodeHandler(
        new H3()
          .use(async (event, next) => {
            await event.req.text()
            return next()
          })
          .mount('/', h3App(receiver)),
      ),
    ),
    code: 'body_already_read',
    says: 'request.clone()',
  },
})

test('Azure Functions: its handler answers the requests of its runtime', async () => {
  const receiver = createReceiver({ logger: false, ...withCredentials({}) })
  onTestFinished(() => receiver.close())
  const observed = watched(receiver)
  const handle = azureHandler(receiver)
  const body = reportText()
  const headers = { 'x-service-signature': signatureOf(body) }
  expect(await handle(new Request('http://localhost', { method: 'POST', headers, body }))).toMatchObject({
    status: 204,
  })
  const refused = await handle(new Request('http://localhost', { method: 'POST', body }))
  expect(refused).toMatchObject({ status: 401, body: expect.stringContaining('not_authentic') as unknown })
  await receiver.drain()
  expect(observed().dispatched).toMatchObject([{ messageId: 'm-1' }])
})

test('Google Cloud Functions: verifies the bytes that its parser left in rawBody', async () => {
  const receiver = createReceiver({ logger: false, ...withCredentials({}) })
  const observed = watched(receiver)
  // As its framework does before it calls the function.
  const parser = express.json({
    verify: (incoming, _response, bytes) => Object.assign(incoming, { rawBody: bytes }),
  })
  const server = http.createServer(express().use(parser, googleHandler(receiver)))
  const url = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await receiver.close()
  })
  const body = ` ${reportText()}\n`
  expect(await request(url, { body, headers: { 'x-service-signature': signatureOf(body) } })).toMatchObject({
    status: 204,
  })
  expect(await request(url, { body: keyedText({ messageId: 'm-2' }) })).toMatchObject({ status: 204 })
  expect(await request(url, { body })).toMatchObject({ status: 401 })
  await receiver.drain()
  expect(
    observed()
      .dispatched.map(({ messageId }) => messageId)
      .sort(),
  ).toEqual(['m-1', 'm-2'])
  expect(observed().dispatched[0]?.raw).toBe(Buffer.from(body).toString('hex'))
})
