/** Requests that are framed wrongly or unusually. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, neverReachesUs, refused, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { chunked, connect, head, reportText, signatureOf, signedBytes, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const BODY = reportText()

/** A signed request, in raw bytes, that is valid except for these header lines and this body. */
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

/** A refusal by Node itself: the whole body reaches no handler. */
const BROKEN = neverReachesUs(400)

hazards([
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
  raw('#56 more bytes than announced', ['Content-Length: 5'], BODY, {
    // Node has answered the rest before the receiver answers the beginning.
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
  raw('#57 a chunk size that is not a number', ['Transfer-Encoding: chunked'], `xyz\r\n${BODY}\r\n0\r\n\r\n`, BROKEN, {
    // Node answers, and tells the receiver that the body ended early.
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
    name: '#68 two callbacks at once on one connection',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(signedBytes(reportText()), signedBytes(reportText({ messageId: 'm-2' })))
      expect(await wire.answers(2)).toEqual([204, 204])
      return 204
    },
    outcome: accepted({ messageId: 'm-1' }, { messageId: 'm-2' }),
  },
  {
    name: '#68 a forged one between two others on one connection',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(
        signedBytes(reportText()),
        head('Content-Length: 2'),
        '{}',
        signedBytes(reportText({ messageId: 'm-2' })),
      )
      expect(await wire.answers(3)).toEqual([204, 401, 204])
      return 401
    },
    outcome: { ...accepted({ messageId: 'm-1' }, { messageId: 'm-2' }), status: 401, codes: ['signature_missing'] },
  },
])
