import express from 'express'
import express4 from 'express4'
import { callback, signCallback } from 'messaging-webhooks/testing'
import supertest, { type Response } from 'supertest'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, receiving, SIGNING_SECRET } from '../support/receiving.ts'

type Parser = express.RequestHandler

async function receivingBehind(...parsers: readonly Parser[]) {
  const { receiver, errors } = await receiving()
  const raws: string[] = []
  receiver.onAny(({ raw }) => void raws.push(raw.toString()))
  const app = express().use(...parsers, receiver.middleware('status'))
  const send = (body: string, contentType = 'application/json'): Promise<Response> =>
    supertest(app)
      .post('/')
      .set('content-type', contentType)
      .set('x-service-signature', signCallback(body, SIGNING_SECRET))
      .send(body)
      .then((response) => response)
  return { receiver, errors, raws, send }
}

/** White space that no re-serialised body has. */
const spaced = (fields: object): string => `${JSON.stringify(fields, undefined, 1)}\n`

describe('behind express.json()', () => {
  test('the authKey alone proves a callback, and the log says so once', async () => {
    const { receiver, errors, send } = await receivingBehind(express.json())
    const proofs: string[] = []
    receiver.onAny(({ proof }) => void proofs.push(proof))
    for (let time = 0; time < 3; time += 1)
      expect((await send(spaced(callback.smsDelivery({ authKey: AUTH_KEY })))).status).toBe(204)
    await receiver.drain()
    expect(proofs).toEqual(['authKey', 'authKey', 'authKey'])
    expect(errors).toMatchObject([{ code: 'body_already_parsed', name: 'MessagingWebhooksError' }])
  })

  test('without an authKey it is refused, with the reason for whoever reads the log', async () => {
    const { errors, send } = await receivingBehind(express.json())
    for (const body of [spaced(callback.smsDelivery()), JSON.stringify(callback.smsDelivery())])
      expect((await send(body)).status).toBe(401)
    expect(errors).toMatchObject([
      { code: 'body_already_parsed', name: 'RefusedError' },
      { code: 'body_already_parsed', name: 'RefusedError' },
    ])
  })

  test('bytes kept in rawBody are proved as they were sent', async () => {
    const keep = express.json({ verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }) })
    const { receiver, errors, raws, send } = await receivingBehind(keep)
    const body = spaced(callback.smsDelivery())
    expect((await send(body)).status).toBe(204)
    await receiver.drain()
    expect(raws).toEqual([body])
    expect(errors).toEqual([])
  })

  test('a rawBody that is text of the announced length is taken, and one of another length is not', async () => {
    const keep = (edit: (text: string) => string) =>
      express.json({
        verify: (request, _response, bytes) => Object.assign(request, { rawBody: edit(bytes.toString()) }),
      })
    const whole = await receivingBehind(keep((text) => text))
    expect((await whole.send(spaced(callback.smsDelivery()))).status).toBe(204)
    const trimmed = await receivingBehind(keep((text) => text.trim()))
    expect((await trimmed.send(spaced(callback.smsDelivery()))).status).toBe(401)
    expect(trimmed.errors).toMatchObject([{ code: 'body_already_parsed' }])
  })

  test('a body that it does not take is still unread, and is read by us', async () => {
    for (const app of [express().use(express.json()), express4().use(express4.json())]) {
      const { receiver, errors } = await receiving()
      const body = spaced(callback.smsDelivery())
      const response = await supertest(app.use(receiver.middleware('status')))
        .post('/')
        .set('content-type', 'text/plain')
        .set('x-service-signature', signCallback(body, SIGNING_SECRET))
        .send(body)
      expect(response.status).toBe(204)
      expect(errors).toEqual([])
    }
  })

  test('a value that cannot be written out again is refused', async () => {
    const circular: Parser = (request, _response, next) => {
      const body: Record<string, unknown> = { authKey: AUTH_KEY }
      request.body = Object.assign(body, { body })
      next()
    }
    const { errors, send } = await receivingBehind(express.json(), circular)
    expect((await send(spaced(callback.smsDelivery()))).status).toBe(401)
    expect(errors).toMatchObject([{ code: 'body_already_parsed' }])
  })
})

test('behind express.raw() the Buffer is proved as it is', async () => {
  const { receiver, raws, errors, send } = await receivingBehind(express.raw({ type: () => true }))
  const body = spaced(callback.smsDelivery())
  expect((await send(body)).status).toBe(204)
  await receiver.drain()
  expect(raws).toEqual([body])
  expect(errors).toEqual([])
})

test('behind express.text() the text is taken where its length is the announced one', async () => {
  const { send } = await receivingBehind(express.text({ type: () => true }))
  expect((await send(spaced(callback.smsDelivery({ messageId: 'é' })))).status).toBe(204)
})

test('behind express.text() a text that was decoded to other bytes needs its authKey', async () => {
  const { errors, send } = await receivingBehind(express.text({ type: () => true }))
  const latin1 = 'text/plain; charset=latin1'
  expect((await send(spaced(callback.smsDelivery({ messageId: 'é' })), latin1)).status).toBe(401)
  expect((await send(spaced(callback.smsDelivery({ messageId: 'é', authKey: AUTH_KEY })), latin1)).status).toBe(204)
  expect((await send('no JSON: é', latin1)).status).toBe(401)
  expect(errors.map(({ code }) => code)).toEqual(['body_already_parsed', 'body_already_parsed', 'body_already_parsed'])
})

test('a body that was read and thrown away is refused with that reason', async () => {
  const swallow: Parser = (request, _response, next) => void request.resume().on('end', next)
  const { errors, send } = await receivingBehind(swallow)
  expect((await send(spaced(callback.smsDelivery({ authKey: AUTH_KEY })))).status).toBe(401)
  expect(errors).toMatchObject([{ code: 'body_already_read', status: 401 }])
})

test('a stream that was set to text before us is refused with that reason', async () => {
  const decode: Parser = (request, _response, next) => {
    request.setEncoding('utf8')
    next()
  }
  const { errors, send } = await receivingBehind(decode)
  expect((await send(spaced(callback.smsDelivery()))).status).toBe(401)
  expect(errors).toMatchObject([{ code: 'body_already_read' }])
})

test('a Buffer beyond maxBodyBytes is too large, whoever read it', async () => {
  const { receiver, errors } = await receiving({ maxBodyBytes: 100 })
  const inflate: Parser = (request, _response, next) => {
    request.body = Buffer.alloc(101)
    next()
  }
  const app = express().use(express.raw({ type: () => true }), inflate, receiver.middleware('status'))
  expect((await supertest(app).post('/').send('small')).status).toBe(413)
  expect(errors).toMatchObject([{ code: 'body_too_large', status: 413 }])
})
