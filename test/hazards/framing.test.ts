/** Requests that are framed wrongly, slowly or oddly. The numbers are those of the project's list of hazards. */
import { once } from 'node:events'
import type http from 'node:http'
import type { Middleware } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { callback } from 'messaging-webhooks/testing'
import { hazards, neverReachesUs, refused, serve, taken, type HazardCase, type Outcome } from '../support/hazard.ts'
import { post } from '../support/receiving.ts'
import {
  connect,
  digestOf,
  head,
  nowSeconds,
  postSigned,
  reportText,
  request,
  signatureOf,
  writeRaw,
} from '../support/wire.ts'

const DELIVERED = taken({ type: 'message.delivered', messageId: 'm-1' })
const TOO_LARGE = refused(413, 'body_too_large')
const BODY = reportText()
const MOST = 2_000
const small = { maxBodyBytes: MOST }

/** A signed report of exactly so many bytes. */
function sized(bytes: number): string {
  const text = reportText({ filler: '' })
  return reportText({ filler: 'x'.repeat(bytes - text.length) })
}

function chunked(body: string, size = body.length): string {
  let text = ''
  for (let from = 0; from < body.length; from += size) {
    const part = body.slice(from, from + size)
    text += `${part.length.toString(16)}\r\n${part}\r\n`
  }
  return `${text}0\r\n\r\n`
}

/** A signed request, in raw bytes, that is all right but for these header lines and this body. */
function raw(
  name: string,
  lines: readonly string[],
  body: string,
  outcome: Outcome,
  more: Partial<HazardCase> = {},
): HazardCase {
  return {
    name,
    send: ({ url }) => writeRaw(url, head(`X-Service-Signature: ${signatureOf(BODY)}`, ...lines), body),
    outcome,
    ...more,
  }
}

/** A refusal of Node's own: the body never reaches anybody whole. */
const BROKEN = neverReachesUs(400)

hazards([
  {
    name: '#53 a body of maxBodyBytes',
    options: small,
    send: ({ url }) => postSigned(url, sized(MOST)),
    outcome: DELIVERED,
  },
  {
    name: '#53 one byte more',
    options: small,
    send: ({ url }) => postSigned(url, sized(MOST + 1)),
    outcome: TOO_LARGE,
  },
  {
    name: '#53 100 MB announced: answered before they are sent',
    send: ({ url }) => writeRaw(url, head('Content-Length: 100000000')),
    outcome: TOO_LARGE,
  },
  {
    name: '#53 2^53 bytes announced',
    send: ({ url }) => writeRaw(url, head('Content-Length: 9007199254740993')),
    outcome: TOO_LARGE,
  },
  {
    name: '#53 5 MB that are really sent: the client sees the answer',
    send: ({ url }) => postSigned(url, sized(5_000_000)),
    outcome: TOO_LARGE,
  },
  {
    name: '#54 maxBodyBytes in chunks',
    options: small,
    send: ({ url }) => {
      const body = sized(MOST)
      return writeRaw(
        url,
        head(`X-Service-Signature: ${signatureOf(body)}`, 'Transfer-Encoding: chunked'),
        chunked(body, 7),
      )
    },
    outcome: DELIVERED,
  },
  {
    name: '#54 one byte more in chunks',
    options: small,
    send: ({ url }) => {
      const body = sized(MOST + 1)
      return writeRaw(
        url,
        head(`X-Service-Signature: ${signatureOf(body)}`, 'Transfer-Encoding: chunked'),
        chunked(body, 7),
      )
    },
    outcome: TOO_LARGE,
  },
  raw(
    '#55 fewer bytes than announced, then the end',
    ['Content-Length: 500'],
    BODY,
    {
      ...neverReachesUs(400),
    },
    {
      async send({ url }) {
        const wire = await connect(url)
        wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Content-Length: 500'), BODY)
        wire.socket.end()
        const [status] = await wire.answers()
        return status
      },
      outcome: refused(400, 'body_incomplete'),
    },
  ),
  {
    name: '#55 fewer bytes than announced, then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Content-Length: 500'), BODY)
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#55 chunks without an end, then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(
        head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked'),
        chunked(BODY).slice(0, -5),
      )
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#55 the head and then a reset',
    async send(service) {
      const seen = once(service.server, 'request')
      const wire = await connect(service.url)
      wire.write(head('Content-Length: 500'))
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => service.errors.length).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  raw('#56 more bytes than announced', ['Content-Length: 5'], BODY, {
    // Node has answered for the rest before we answer for the beginning.
    ...neverReachesUs(400),
    codes: ['signature_mismatch'],
  }),
  {
    name: '#56 more bytes than announced, but later',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Content-Length: 5'), BODY.slice(0, 5))
      expect(await wire.answers()).toEqual([401])
      wire.write(BODY.slice(5))
      expect(await wire.answers(2)).toEqual([401, 400])
      return 401
    },
    outcome: refused(401, 'signature_mismatch'),
  },
  raw(
    '#57 Content-Length and Transfer-Encoding',
    [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'],
    chunked(BODY),
    BROKEN,
  ),
  raw('#57 two lengths', [`Content-Length: ${BODY.length}`, `Content-Length: ${BODY.length}`], BODY, BROKEN),
  raw('#57 two different lengths', [`Content-Length: ${BODY.length}`, 'Content-Length: 5'], BODY, BROKEN),
  ...['-1', '+5', '0x10', '1e2', '5, 5', '1 0', 'five', '99999999999999999999999'].map((length) =>
    raw(`#57 Content-Length: ${length}`, [`Content-Length: ${length}`], BODY, BROKEN),
  ),
  raw('#57 a chunk size that is no number', ['Transfer-Encoding: chunked'], `xyz\r\n${BODY}\r\n0\r\n\r\n`, BROKEN, {
    // Node answers, and tells the receiver that the body broke off.
    outcome: { status: 400, events: [], codes: ['body_incomplete'] },
  }),
  raw('#57 a chunk longer than its size', ['Transfer-Encoding: chunked'], `5\r\n${BODY}\r\n0\r\n\r\n`, BROKEN, {
    outcome: { status: 400, events: [], codes: ['body_incomplete'] },
  }),
  raw('#57 Transfer-Encoding with chunked not last', ['Transfer-Encoding: chunked, gzip'], chunked(BODY), BROKEN),
  raw(
    '#58 Transfer-Encoding: gzip, chunked, over bytes that are not compressed',
    ['Transfer-Encoding: gzip, chunked'],
    chunked(BODY),
    DELIVERED,
  ),
  raw('chunks of one byte', ['Transfer-Encoding: chunked'], chunked(BODY, 1), DELIVERED),
  raw(
    'chunk extensions',
    ['Transfer-Encoding: chunked'],
    chunked(BODY).replace('\r\n', ';name="value"\r\n'),
    DELIVERED,
  ),
  raw(
    '#70 Upgrade: websocket',
    [`Content-Length: ${BODY.length}`, 'Connection: Upgrade', 'Upgrade: websocket'],
    BODY,
    DELIVERED,
  ),
  raw(
    '#70 Upgrade: h2c',
    [
      `Content-Length: ${BODY.length}`,
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
    ],
    BODY,
    DELIVERED,
  ),
  raw('Expect: something else', [`Content-Length: ${BODY.length}`, 'Expect: 200-ok'], BODY, neverReachesUs(417)),
  raw('a header without a colon', [`Content-Length: ${BODY.length}`, 'nonsense'], BODY, BROKEN),
  raw('a NUL in a header', [`Content-Length: ${BODY.length}`, 'X-Other: a\0b'], BODY, BROKEN),
  {
    name: '#69 Expect: 100-continue',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(
        head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`, 'Expect: 100-continue'),
      )
      await new Promise((resolve) => wire.socket.once('data', resolve))
      wire.write(BODY)
      const [status] = await wire.answers()
      return status
    },
    outcome: DELIVERED,
  },
  {
    name: '#70 HTTP/1.0 with a length',
    send: ({ url }) =>
      writeRaw(
        url,
        `POST / HTTP/1.0\r\nX-Service-Signature: ${signatureOf(BODY)}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      ),
    outcome: DELIVERED,
  },
  {
    name: '#70 HTTP/1.0 without a length has no body',
    send: ({ url }) => writeRaw(url, `POST / HTTP/1.0\r\nX-Service-Signature: ${signatureOf(BODY)}\r\n\r\n`),
    outcome: refused(401, 'signature_mismatch'),
  },
  {
    name: '#32 HTTP/0.9',
    send: ({ url }) => writeRaw(url, 'POST /\r\n\r\n'),
    outcome: refused(401, 'signature_missing'),
  },
  { name: 'HTTP/1.1 without Host', send: ({ url }) => writeRaw(url, 'POST / HTTP/1.1\r\n\r\n'), outcome: BROKEN },
  {
    name: 'the preface of HTTP/2',
    send: ({ url }) => writeRaw(url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    outcome: BROKEN,
  },
  {
    name: 'a TLS hello',
    send: ({ url }) => writeRaw(url, Buffer.from('16030100a5010000a1030300', 'hex')),
    outcome: BROKEN,
  },
  {
    name: '#65 one byte, and then nothing',
    options: { bodyTimeoutMs: 50 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`), BODY.slice(0, 1))
      const text = await wire.closed
      expect(text).toMatch(/connection: close/i)
      return Number(text.slice(9, 12))
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: '#65 a byte now and then: the time is for all of them',
    options: { bodyTimeoutMs: 150 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`))
      let sent = 0
      const drip = setInterval(() => wire.write(BODY.slice(sent, (sent += 1))), 10)
      const [status] = await wire.answers()
      clearInterval(drip)
      await wire.closed
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: '#65 chunks now and then',
    options: { bodyTimeoutMs: 150 },
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked'))
      const drip = setInterval(() => wire.write('1\r\n \r\n'), 10)
      const [status] = await wire.answers()
      clearInterval(drip)
      await wire.closed
      return status
    },
    outcome: refused(408, 'body_too_slow'),
  },
  {
    name: '#66 the client goes with its last byte',
    async send({ url }) {
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`) + BODY
      await new Promise((resolve) => wire.socket.write(bytes, resolve))
      wire.socket.destroy()
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client goes with its last chunk',
    async send({ url }) {
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, 'Transfer-Encoding: chunked') + chunked(BODY, 10)
      await new Promise((resolve) => wire.socket.write(bytes, resolve))
      wire.socket.destroy()
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client goes before a slow application has called us',
    mount: { within: calledWhenGone },
    async send({ url, server, handed }) {
      const seen = once(server, 'request')
      const wire = await connect(url)
      const bytes = head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`, 'X-Slow: yes')
      wire.write(bytes + BODY)
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => handed.length).toBe(1)
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  {
    name: '#66 the client goes with half a body before a slow application has called us',
    mount: { within: calledWhenGone },
    async send({ url, server, errors }) {
      const seen = once(server, 'request')
      const wire = await connect(url)
      wire.write(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`, 'X-Slow: yes'))
      wire.write(BODY.slice(0, -1))
      await seen
      wire.socket.resetAndDestroy()
      await expect.poll(() => errors.length).toBe(1)
      return undefined
    },
    outcome: { status: undefined, events: [], codes: ['body_incomplete'] },
  },
  {
    name: '#67 the client half-closes behind its body',
    async send({ url }) {
      const wire = await connect(url)
      wire.socket.end(head(`X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`) + BODY)
      await wire.closed
      return undefined
    },
    outcome: { ...DELIVERED, status: undefined },
  },
  ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'].map((method): HazardCase => ({
    name: `#71 ${method}`,
    async send({ url }) {
      const { status, headers } = await request(url, { method })
      expect(headers).toMatchObject({ allow: 'POST', connection: 'close' })
      return status
    },
    outcome: { status: 405, events: [], codes: [] },
  })),
  {
    name: '#71 PUT with a right signature and a body that is never sent whole',
    send: ({ url }) => writeRaw(url, `PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{`),
    outcome: { status: 405, events: [], codes: [] },
  },
  { name: 'post in small letters', send: ({ url }) => writeRaw(url, head().replace('POST', 'post')), outcome: BROKEN },
  {
    name: '#72 a method that was overridden before us',
    mount: {
      within: (middleware) => (incoming, response) => {
        if (incoming.headers['x-http-method-override'] !== undefined) incoming.method = 'DELETE'
        middleware(incoming, response)
      },
    },
    send: ({ url }) => postSigned(url, BODY, { 'x-http-method-override': 'DELETE' }),
    outcome: { status: 405, events: [], codes: [] },
  },
  {
    name: '#72 the same header with nobody to heed it',
    send: ({ url }) => postSigned(url, BODY, { 'x-http-method-override': 'DELETE' }),
    outcome: DELIVERED,
  },
  {
    name: '#68 two callbacks at once on one connection',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(['m-1', 'm-2'].map(pipelined).join(''))
      expect(await wire.answers(2)).toEqual([204, 204])
      return 204
    },
    outcome: taken({ messageId: 'm-1' }, { messageId: 'm-2' }),
  },
  {
    name: '#68 a forged one between two others on one connection',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(pipelined('m-1'), head('Content-Length: 2'), '{}', pipelined('m-2'))
      expect(await wire.answers(3)).toEqual([204, 401, 204])
      return 401
    },
    outcome: { ...taken({ messageId: 'm-1' }, { messageId: 'm-2' }), status: 401, codes: ['signature_missing'] },
  },
  {
    name: 'a good one behind one that is too large on one connection is taken, though nobody can be told',
    options: small,
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(`Content-Length: ${MOST + 1}`), sized(MOST + 1), pipelined('m-2'))
      const text = await wire.closed
      expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413'])
      return 413
    },
    outcome: { ...TOO_LARGE, events: [{ messageId: 'm-2' }] },
  },
])

/** An application that calls the receiver once the client of a slow request has gone. */
function calledWhenGone(middleware: Middleware): http.RequestListener {
  return (incoming, response) => {
    const call = (): void => middleware(incoming, response)
    if (incoming.headers['x-slow'] === undefined) call()
    else incoming.socket.once('close', () => setImmediate(call))
  }
}

function pipelined(messageId: string): string {
  const body = reportText({ messageId })
  const t = nowSeconds()
  return head(`X-Service-Signature: t=${t},v1=${digestOf(t, body)}`, `Content-Length: ${body.length}`) + body
}

test('every refusal that leaves a body unread closes its connection', async () => {
  const { url } = await serve({ maxBodyBytes: MOST, bodyTimeoutMs: 50 })
  for (const [bytes, status] of [
    [head(`Content-Length: ${MOST + 1}`), 413],
    [`PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n`, 405],
    [head('Content-Length: 500'), 408],
  ] as const) {
    const wire = await connect(url)
    wire.write(bytes)
    expect(await wire.closed).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`, 'i'))
  }
  expect(await post(url, callback.smsDelivery())).toMatchObject({ status: 204 })
})
