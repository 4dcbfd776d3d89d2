/** `receiver.receive`: the same receiver for a framework of any kind. Its answers are those of the middleware. */
import { Readable } from 'node:stream'
import { createReceiver, type CallbackRequest, type MessagingWebhooksError } from 'messaging-webhooks'
import type { RequestHeaders } from '../../src/http/request.ts'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, SIGNING_SECRET, withCredentials, type SomeOptions } from '../support/receiving.ts'

const BYTES = Buffer.from(JSON.stringify(callback.smsDelivery({ messageId: 'm-1' })))
const KEYED = { ...callback.smsDelivery({ messageId: 'm-1' }), authKey: AUTH_KEY }

/** A receiver that is not mounted. */
function unmounted(options: SomeOptions = {}) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  const errors: MessagingWebhooksError[] = []
  const ids: string[] = []
  receiver.onError((error) => void errors.push(error))
  receiver.on('message.*', ({ messageId }) => void ids.push(messageId))
  onTestFinished(() => receiver.close({ deadlineMs: 0 }))
  const receive = (request: Partial<CallbackRequest>) =>
    receiver.receive({ kind: 'status', method: 'POST', headers: signed(BYTES), body: BYTES, ...request })
  return { receiver, receive, errors, ids, codes: () => errors.map(({ code }) => code) }
}

function signed(bytes: Uint8Array): Record<string, string> {
  return { 'content-type': 'application/json', 'x-service-signature': signCallback(bytes, SIGNING_SECRET) }
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise(setImmediate)
    yield bytes.subarray(at, at + size)
  }
}

describe('a body is accepted', () => {
  test.each<[string, () => CallbackRequest['body']]>([
    ['whole', () => BYTES],
    [
      'as a part of a larger buffer',
      () => new Uint8Array(Buffer.concat([Buffer.from('x'), BYTES, Buffer.from('y')])).subarray(1, -1),
    ],
    ['as a web stream', () => new Response(BYTES).body],
    ['as a Node stream', () => Readable.from([BYTES.subarray(0, 7), BYTES.subarray(7)])],
    ['byte for byte', () => pieces(BYTES, 1)],
  ])('%s', async (_, body) => {
    const { receiver, receive, ids } = unmounted()
    expect(await receive({ body: body() })).toEqual({ status: 204, headers: {}, body: undefined })
    expect(await receiver.drain()).toBe(true)
    expect(ids).toEqual(['m-1'])
  })

  test('parsed, by its authKey alone, and onError is notified of the parser', async () => {
    const { receive, codes } = unmounted()
    expect(await receive({ body: { parsed: KEYED } })).toMatchObject({ status: 204 })
    expect(await receive({ body: { parsed: callback.smsDelivery() } })).toMatchObject({ status: 401 })
    expect(codes()).toEqual(['body_already_parsed', 'body_already_parsed'])
  })

  test('parsed, with the fix for this framework', async () => {
    const { receive, errors } = unmounted()
    const fix = 'In this framework, mount it before the others.'
    for (const parsed of [KEYED, callback.smsDelivery(), 'no JSON', undefined]) await receive({ body: { parsed, fix } })
    expect(errors.map(({ code, name, detail }) => ({ code, name, detail }))).toEqual([
      { code: 'body_already_parsed', name: 'MessagingWebhooksError', detail: fix },
      { code: 'body_already_parsed', name: 'RefusedError', detail: fix },
      { code: 'body_already_parsed', name: 'RefusedError', detail: fix },
      { code: 'body_already_read', name: 'RefusedError', detail: fix },
    ])
  })

  test('missing, which no proof can cover', async () => {
    const { receive } = unmounted()
    for (const body of [undefined, null]) expect(await receive({ body, headers: {} })).toMatchObject({ status: 401 })
  })
})

describe('headers are accepted', () => {
  const value = (): string => signCallback(BYTES, SIGNING_SECRET)
  test.each<[string, () => RequestHeaders]>([
    ['from a record', () => ({ 'x-service-signature': value() })],
    ['in any case', () => ({ 'X-Service-Signature': value() })],
    ['from lists', () => ({ 'x-service-signature': [value()], accept: ['a', 'b'], missing: undefined })],
    ['from Headers', () => new Headers({ 'x-service-signature': value() })],
    ['from a Map', () => new Map([['x-service-signature', value()]])],
    ['from pairs', () => [['X-Service-Signature', value()]]],
  ])('%s', async (_, headers) => {
    expect(await unmounted().receive({ headers: headers() })).toMatchObject({ status: 204 })
  })

  test.each<[string, () => RequestHeaders]>([
    ['a list', () => ({ 'x-service-signature': [value(), value()] })],
    [
      'pairs',
      () => [
        ['x-service-signature', value()],
        ['X-Service-Signature', value()],
      ],
    ],
    [
      'joined',
      () =>
        new Headers([
          ['x-service-signature', value()],
          ['x-service-signature', value()],
        ]),
    ],
  ])('and a signature that comes twice is refused: %s', async (_, headers) => {
    const { receive, codes } = unmounted()
    expect(await receive({ headers: headers() })).toMatchObject({ status: 401 })
    expect(codes()).toEqual(['signature_malformed'])
  })
})

describe('refusals', () => {
  test('stop a client that is still sending', async () => {
    const { receive } = unmounted({ maxBodyBytes: 100 })
    let isLetGo = false
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield await Promise.resolve(new Uint8Array(60))
      } finally {
        isLetGo = true
      }
    }
    expect(await receive({ headers: {}, body: endless() })).toMatchObject({ status: 413 })
    await expect.poll(() => isLetGo).toBe(true)
  })

  test.each(['utf8', 'hex'] as const)('of no body that a stream gives back as %s', async (encoding) => {
    const { receive, codes } = unmounted()
    const body: AsyncIterable<unknown> = Readable.from([BYTES], { encoding, objectMode: false })
    expect(await receive({ body: body as AsyncIterable<Uint8Array> })).toMatchObject({ status: 204 })
    expect(codes()).toEqual([])
  })

  test('of a stream of neither bytes nor text', async () => {
    const { receive, codes } = unmounted()
    const body: AsyncIterable<unknown> = Readable.from([{ messageId: 'm-1' }])
    expect(await receive({ body: body as AsyncIterable<Uint8Array> })).toMatchObject({ status: 401 })
    expect(codes()).toEqual(['body_already_read'])
  })

  test('of a stream that other code is reading', async () => {
    const { receive, codes } = unmounted()
    const { body } = new Response(BYTES)
    body?.getReader()
    expect(await receive({ body })).toMatchObject({ status: 401 })
    expect(codes()).toEqual(['body_already_read'])
  })
})

test('close() waits for a request that is being read', async () => {
  const { receiver, receive } = unmounted()
  await receiver.start()
  let send = (_: Uint8Array): void => {}
  let end = (): void => {}
  const body = new ReadableStream<Uint8Array>({
    start(to) {
      send = (bytes) => to.enqueue(bytes)
      end = () => to.close()
    },
  })
  const order: string[] = []
  const answer = receive({ body }).then(({ status }) => void order.push(`answered ${status}`))
  send(BYTES.subarray(0, 9))
  await new Promise(setImmediate)
  const closed = receiver.close().then(() => void order.push('closed'))
  send(BYTES.subarray(9))
  end()
  await Promise.all([answer, closed])
  expect(order).toEqual(['answered 204', 'closed'])
})

describe('waitUntil', () => {
  test('gets the first attempt for a callback, which the answer does not wait for', async () => {
    const { receiver, receive } = unmounted()
    let finish = (): void => {}
    receiver.onAny(() => new Promise<void>((_, reject) => (finish = () => reject(new Error('not yet')))))
    const attempts: Promise<void>[] = []
    const waitUntil = (attempted: Promise<void>): void => void attempts.push(attempted)
    expect(await receive({ waitUntil })).toMatchObject({ status: 204 })
    let isOver = false
    const attempted = Promise.all(attempts).then(() => (isOver = true))
    await expect.poll(async () => (await receiver.stats()).running).toBe(1)
    expect({ count: attempts.length, isOver }).toEqual({ count: 1, isOver: false })
    finish()
    await attempted
    // Neither a duplicate nor a refused request adds anything.
    expect(await receive({ waitUntil })).toMatchObject({ status: 204 })
    expect(await receive({ waitUntil, headers: {} })).toMatchObject({ status: 401 })
    expect(attempts).toHaveLength(1)
  })

  test('that throws does not undo the acceptance', async () => {
    const { receiver, receive, ids, codes } = unmounted()
    const waitUntil = (): never => {
      throw new Error('frozen')
    }
    expect(await receive({ waitUntil })).toMatchObject({ status: 204 })
    await receiver.drain()
    expect({ ids, codes: codes() }).toEqual({ ids: ['m-1'], codes: ['internal'] })
  })
})

test.each<[string, object, string]>([
  ['a misspelt policy', { prof: 'signature' }, 'unknown part of a request. Got "prof". Did you mean "proof"?'],
  ['a policy that does not exist', { proof: 'signatur' }, 'Did you mean "signature"?'],
  ['a kind that does not exist', { kind: 'state' }, 'Valid: status, received, payment, subscription.'],
  ['a promise to wait for', { waitUntil: Promise.resolve() }, 'waitUntil is an object; expected a function'],
  ['no method', { method: undefined }, 'method is undefined'],
  ['headers as text', { headers: 'a: b' }, 'headers is a string'],
  ['a body as text', { body: 'the body' }, 'body is a string; expected its bytes'],
  ['a body as its object', { body: { messageId: 'm-1' } }, 'body is an object; expected its bytes'],
  ['a body as an ArrayBuffer', { body: new ArrayBuffer(8) }, 'body is an object; expected its bytes'],
])('%s throws, and does not count as a callback', async (_, wrong, says) => {
  const { receive, receiver } = unmounted()
  const refused = receive(wrong)
  await expect(refused).rejects.toThrow(says)
  await expect(refused).rejects.toMatchObject({ code: 'options_invalid' })
  expect(await receiver.stats()).toMatchObject({ accepted: 0, refused: 0 })
})
