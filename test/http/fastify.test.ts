/** The plugin for Fastify: the cases of every adapter, and what an app may do around it. */
import connect, { type HandleFunction } from 'connect'
import express from 'express'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { createReceiver, OptionsError } from 'messaging-webhooks'
import { webhooks, type WebhooksOptions } from 'messaging-webhooks/fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { withCredentials, type SomeOptions } from '../support/receiving.ts'
import { connect as connectWire, keyedText, request } from '../support/wire.ts'
import { adapterCases, type AdapterOptions, type StartedAdapter } from './adapters/cases.ts'
import { watched } from './adapters/watched.ts'
import { gate } from '../support/gate.ts'

type Prepare = (app: FastifyInstance) => void

/** An app with one path of the plugin, and whatever `prepare` adds. */
function starting(prepare: Prepare = () => {}, server: FastifyServerOptions = {}) {
  return async (options: AdapterOptions): Promise<StartedAdapter> => {
    const receiver = createReceiver(options)
    const app = Fastify({ ...server, forceCloseConnections: true })
    prepare(app)
    void app.register(webhooks, { receiver, status: '/status' })
    const observed = watched(receiver)
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url: `${url}/status`, observed, close: () => app.close() }
  }
}

/** As the plugins do that run Express or Connect middleware in Fastify. */
const parseAsExpressDoes: Prepare = (app) => {
  const connected = connect().use(express.json() as HandleFunction)
  app.addHook('onRequest', (incoming, reply, done) => connected(incoming.raw, reply.raw, done))
}

adapterCases('Fastify', {
  start: starting(),
  parser: { start: starting(parseAsExpressDoes), code: 'body_already_parsed', says: 'keep the bytes in `req.rawBody`' },
})

/** Parsers that would fail, minimal limits and timeouts, and hooks that fail at every stage after the first. */
const hostile: Prepare = (app) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(new Error('No parser.')))
  app.addHook('onRequest', async () => {
    await new Promise(setImmediate)
  })
  app.addHook('preParsing', async (incoming) => {
    incoming.raw.resume()
    throw new Error('Nothing is parsed here.')
  })
  for (const hook of ['preValidation', 'preHandler', 'preSerialization', 'onSend'] as const)
    app.addHook(hook, async () => {
      throw new Error(`${hook} was run.`)
    })
}

adapterCases('Fastify with parsers, hooks, a limit and a deadline of its own', {
  start: starting(hostile, { bodyLimit: 1, handlerTimeout: 1_000 }),
  parser: { start: starting(parseAsExpressDoes), code: 'body_already_parsed', says: 'keep the bytes in `req.rawBody`' },
})

type Mount = Partial<WebhooksOptions> & { readonly prefix?: string }

/** A running app with the plugin; closed with the test. */
async function serving(options: SomeOptions = {}, prepare: Prepare = () => {}, mount: Mount = {}) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  const app = Fastify({ return503OnClosing: false })
  prepare(app)
  void app.register(webhooks, { receiver, status: '/status', ...mount })
  const observed = watched(receiver)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
    await receiver.close({ deadlineMs: 100 })
  })
  return { app, receiver, observed, url }
}

const post = (url: string, body = keyedText()): Promise<{ readonly status: number }> => request(url, { body })

describe('an app', () => {
  test('keeps its own parsing, hooks and errors for its own routes', async () => {
    const ran: string[] = []
    const { url, observed } = await serving({}, (app) => {
      for (const hook of ['onRequest', 'preHandler', 'onResponse'] as const)
        app.addHook(hook, async (incoming) => void ran.push(`${hook} ${incoming.url}`))
      app.post('/own', { bodyLimit: 30 }, async (incoming) => ({ got: incoming.body }))
    })
    expect(await request(`${url}/own`, { body: '{"a":1}' })).toMatchObject({ status: 200, text: '{"got":{"a":1}}' })
    expect(await request(`${url}/own`, { body: keyedText() })).toMatchObject({ status: 413 })
    expect(await post(`${url}/status`)).toMatchObject({ status: 204 })
    await expect
      .poll(() => ran.filter((line) => line.endsWith('/status')))
      .toEqual(['onRequest /status', 'onResponse /status'])
    expect(ran).toContain('preHandler /own')
    expect(observed().errors).toEqual([])
  })

  test('has a path for each kind, each with its own proofs, under a prefix', async () => {
    const { url, observed } = await serving({}, () => {}, {
      prefix: '/webhooks',
      received: '/received',
      payment: { url: '/payment', proof: 'signature' },
      any: '/any',
    })
    expect(await post(`${url}/webhooks/status`)).toMatchObject({ status: 204 })
    expect(await post(`${url}/webhooks/received`, keyedText({ messageId: 'in-1' }))).toMatchObject({ status: 204 })
    expect(await post(`${url}/webhooks/any`, keyedText({ messageId: 'any-1' }))).toMatchObject({ status: 204 })
    expect(await post(`${url}/webhooks/payment`)).toMatchObject({ status: 401 })
    expect(await post(`${url}/status`)).toMatchObject({ status: 404 })
    expect(await post(`${url}/webhooks/subscription`)).toMatchObject({ status: 404 })
    await expect
      .poll(() => observed().dispatched.map(({ messageId }) => messageId))
      .toEqual(['m-1', undefined, 'any-1'])
  })

  test('works with inject, without a network', async () => {
    const { app, observed } = await serving()
    expect(await app.inject({ method: 'POST', url: '/status', payload: keyedText() })).toMatchObject({
      statusCode: 204,
    })
    expect(await app.inject({ method: 'GET', url: '/status' })).toMatchObject({ statusCode: 405 })
    await expect.poll(() => observed().dispatched).toHaveLength(1)
  })
})

describe('app.close()', () => {
  test('accepts pending requests, dispatches what was accepted, and closes the receiver', async () => {
    const { app, receiver, url } = await serving()
    const handled: (string | undefined)[] = []
    const { open: release, opened: held } = gate()
    receiver.on('message.*', async ({ messageId }) => {
      await held
      handled.push(messageId)
    })
    expect(await post(`${url}/status`, keyedText({ messageId: 'before' }))).toMatchObject({ status: 204 })
    const half = Buffer.from(keyedText({ messageId: 'half' }))
    const wire = await connectWire(`${url}/status`)
    wire.write(`POST /status HTTP/1.1\r\nHost: a\r\nContent-Length: ${half.length}\r\n\r\n`, half.subarray(0, 9))
    await expect.poll(() => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)))).toBe(1)
    const closed = app.close().then(() => handled.length)
    wire.write(half.subarray(9))
    expect(await wire.answers()).toEqual([204])
    release()
    expect(await closed).toBe(2)
    expect(handled.toSorted()).toEqual(['before', 'half'])
    expect(await receiver.stats()).toMatchObject({ store: 'closed' })
  })

  test('leaves the receiver open if configured', async () => {
    const { app, receiver } = await serving({}, () => {}, { close: false })
    await app.close()
    expect(await receiver.stats()).toMatchObject({ store: 'up' })
  })
})

describe('rejects at registration:', () => {
  const receiver = createReceiver({ logger: false, ...withCredentials({}) })
  test.each<[string, object, string]>([
    [
      'no receiver',
      { status: '/status' },
      'webhooks: receiver is undefined; expected a receiver from createReceiver()',
    ],
    ['no path', { receiver }, "webhooks: no path is given; expected one, such as status: '/status'."],
    ['a misspelt kind', { receiver, statuses: '/' }, 'Invalid option for webhooks: statuses. Did you mean status?'],
    [
      'an invalid path',
      { receiver, status: 1 },
      "status is a number; expected a path such as '/status', or { url, proof }.",
    ],
    [
      'a misspelt policy',
      { receiver, status: { url: '/', proof: 'signatur' } },
      'proof is a string; expected one of either, signature',
    ],
    ['a misspelt part of a path', { receiver, status: { url: '/', prof: 'both' } }, 'expected a path such as'],
    ['neither of two', { receiver, status: '/', close: 'no' }, 'close is a string; expected true or false'],
  ])('%s', async (_, options, says) => {
    const app = Fastify()
    const ready = app.register(webhooks, options as WebhooksOptions).ready()
    await expect(ready).rejects.toThrow(says)
    await expect(ready).rejects.toBeInstanceOf(OptionsError)
  })
})
