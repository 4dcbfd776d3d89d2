/** The result of `traceContext` is kept with the event, and passed to the observers of its attempts. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import http from 'node:http'
import { connect } from 'node:net'
import { ATTEMPT_CHANNEL, createReceiver, type AttemptMessage, type Store } from 'messaging-webhooks'
import type { EventRecord } from 'messaging-webhooks/store'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { AUTH_KEY, listen, post, receiving, withCredentials } from '../support/receiving.ts'
import { brokenStore } from '../support/stores.ts'

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** The traces of attempts that an observer receives. */
function tracesOf(receiver: () => object) {
  const received: AttemptMessage['trace'][] = []
  const receive = (message: unknown): void => {
    const { receiver: whose, trace } = message as AttemptMessage
    if (whose === receiver()) received.push(trace)
  }
  const { start } = tracingChannel(ATTEMPT_CHANNEL)
  start.subscribe(receive)
  onTestFinished(() => {
    start.unsubscribe(receive)
  })
  return received
}

/** What a store is given to keep. */
function recording(): { readonly store: Store; readonly records: EventRecord[] } {
  const records: EventRecord[] = []
  const store = brokenStore({
    admit(commands, go) {
      records.push(...commands.map(({ event }) => event.record))
      return go()
    },
  })
  return { store, records }
}

test.each(onEachStore)('attempts have it, from a store %s', async (_, make) => {
  const given = { traceparent: TRACEPARENT, tracestate: 'vendor=value' }
  const { receiver, url } = await receiving(
    {
      store: make(),
      spool: false,
      traceContext: () => given,
      retry: { attempts: 2, initialDelayMs: 0, maxDelayMs: 0 },
    },
    { kind: 'status' },
  )
  const received = tracesOf(() => receiver)
  receiver.on('message.*', (_event, { attempt }) => {
    if (attempt === 1) throw new Error('not yet')
  })
  await post(url, callback.smsDelivery())
  await receiver.drain()
  expect(received).toEqual([given, given])
})

test('reports a function that throws or returns junk once, and keeps the valid part', async () => {
  const { store, records } = recording()
  const given: (() => unknown)[] = [
    () => ({ traceparent: TRACEPARENT }),
    () => undefined,
    () => ({ traceparent: TRACEPARENT, tracestate: 'x'.repeat(512) }),
    () => ({ traceparent: TRACEPARENT, tracestate: 'x'.repeat(513) }),
    () => ({ traceparent: TRACEPARENT, tracestate: 'line\nbreak' }),
    () => ({ traceparent: TRACEPARENT.toUpperCase() }),
    () => ({ traceparent: `${TRACEPARENT}-more` }),
    () => ({ traceparent: TRACEPARENT.replace('b7ad6b7169203331', '0'.repeat(16)) }),
    () => ({ tracestate: 'alone=1' }),
    () => TRACEPARENT,
    () => null,
    () => Promise.reject(new Error('a promise')),
    () => {
      throw new Error('thrown')
    },
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('of a proxy')
          },
        },
      ),
  ]
  const rest = [...given]
  const { receiver, url, errors } = await receiving(
    // @ts-expect-error: JavaScript has no types.
    { store, traceContext: () => rest.shift()?.() },
    { kind: 'status' },
  )
  // Another method admits what arrives before the store is open.
  await receiver.start()
  for (const _ of given) expect((await post(url, callback.smsDelivery())).status).toBe(204)
  await receiver.drain()
  expect(records.map(({ traceparent, tracestate }) => [traceparent, tracestate])).toEqual([
    [TRACEPARENT, undefined],
    [undefined, undefined],
    [TRACEPARENT, 'x'.repeat(512)],
    [TRACEPARENT, undefined],
    [TRACEPARENT, undefined],
    ...Array.from({ length: 9 }, () => [undefined, undefined]),
  ])
  expect(errors.map(({ code }) => code)).toEqual(['trace_context_failed'])
})

test('asks as the request begins, while the span of an earlier middleware is active', async () => {
  const spans = new AsyncLocalStorage<string>()
  const options = withCredentials({
    logger: false,
    traceContext: () => ({ traceparent: spans.getStore() ?? TRACEPARENT.replace('-01', '-00') }),
  })
  const receiver = createReceiver(options)
  const received = tracesOf(() => receiver)
  const middleware = receiver.middleware('status')
  const server = http.createServer((request, response) =>
    spans.run(TRACEPARENT, () => {
      middleware(request, response)
    }),
  )
  const { port, hostname } = new URL(await listen(server))
  onTestFinished(async () => {
    server.close()
    await receiver.close()
  })
  receiver.onAny(() => {})
  const body = JSON.stringify({ ...callback.smsDelivery(), authKey: AUTH_KEY })
  const socket = connect(Number(port), hostname)
  socket.write(
    `POST / HTTP/1.1\r\nhost: app\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
  )
  // The body arrives on its own, in no span.
  await new Promise((resolve) => server.once('request', resolve))
  socket.end(body)
  await new Promise((resolve) => socket.resume().once('close', resolve))
  await receiver.drain()
  expect(received).toEqual([{ traceparent: TRACEPARENT }])
})
