/** Requests that are framed wrongly or unusually. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, neverReachesUs, refused, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { chunked, connect, head, reportText, signatureOf, signedBytes, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const BODY = reportText()
const WHOLE = `Content-Length: ${BODY.length}`
const CHUNKED = 'Transfer-Encoding: chunked'

/** The signature header of the body. */
const signature = (): string => `X-Service-Signature: ${signatureOf(BODY)}`

/** A signed request, in raw bytes, that is valid except for these header lines and this body. */
function raw(name: string, lines: readonly string[], body: string, outcome: Outcome): HazardCase {
  return { name, send: ({ url }) => writeRaw(url, head(signature(), ...lines), body), outcome }
}

/** The body with its length, and these header lines. */
function whole(name: string, outcome: Outcome, ...lines: readonly string[]): HazardCase {
  return raw(name, [WHOLE, ...lines], BODY, outcome)
}

/** A refusal by Node itself: the whole body reaches no handler. */
const BROKEN = neverReachesUs(400)
/** Node answers, and tells the receiver that the body ended early. */
const BROKEN_OFF: Outcome = { ...BROKEN, codes: ['body_incomplete'] }

hazards([
  {
    name: '#55 fewer bytes than announced, then the end',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(signature(), 'Content-Length: 500'), BODY)
      wire.socket.end()
      const [status] = await wire.answers()
      return status
    },
    outcome: refused(400, 'body_incomplete'),
  },
  raw('#56 more bytes than announced', ['Content-Length: 5'], BODY, {
    // Node has answered the rest before the receiver answers the beginning.
    ...neverReachesUs(400),
    codes: ['signature_mismatch'],
  }),
  {
    name: '#56 more bytes than announced, but later',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(signature(), 'Content-Length: 5'), BODY.slice(0, 5))
      expect(await wire.answers()).toEqual([401])
      wire.write(BODY.slice(5))
      expect(await wire.answers(2)).toEqual([401, 400])
      return 401
    },
    outcome: refused(401, 'signature_mismatch'),
  },
  raw('#57 Content-Length and Transfer-Encoding', [WHOLE, CHUNKED], chunked(BODY), BROKEN),
  whole('#57 two lengths', BROKEN, WHOLE),
  whole('#57 two different lengths', BROKEN, 'Content-Length: 5'),
  ...['-1', '+5', '0x10', '1e2', '5, 5', '1 0', 'five', '99999999999999999999999'].map((length) =>
    raw(`#57 Content-Length: ${length}`, [`Content-Length: ${length}`], BODY, BROKEN),
  ),
  raw('#57 a chunk size that is not a number', [CHUNKED], `xyz\r\n${BODY}\r\n0\r\n\r\n`, BROKEN_OFF),
  raw('#57 a chunk longer than its size', [CHUNKED], `5\r\n${BODY}\r\n0\r\n\r\n`, BROKEN_OFF),
  raw('#57 Transfer-Encoding with chunked not last', ['Transfer-Encoding: chunked, gzip'], chunked(BODY), BROKEN),
  raw(
    '#58 Transfer-Encoding: gzip, chunked, over bytes that are not compressed',
    ['Transfer-Encoding: gzip, chunked'],
    chunked(BODY),
    DELIVERED,
  ),
  raw('chunks of one byte', [CHUNKED], chunked(BODY, 1), DELIVERED),
  raw('chunk extensions', [CHUNKED], chunked(BODY).replace('\r\n', ';name="value"\r\n'), DELIVERED),
  whole('#70 Upgrade: websocket', DELIVERED, 'Connection: Upgrade', 'Upgrade: websocket'),
  whole(
    '#70 Upgrade: h2c',
    DELIVERED,
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAAQAAP__',
  ),
  whole('Expect: something else', neverReachesUs(417), 'Expect: 200-ok'),
  whole('a header without a colon', BROKEN, 'nonsense'),
  whole('a NUL in a header', BROKEN, 'X-Other: a\0b'),
  {
    name: '#69 Expect: 100-continue',
    async send({ url }) {
      const wire = await connect(url)
      wire.write(head(signature(), WHOLE, 'Expect: 100-continue'))
      await new Promise((resolve) => wire.socket.once('data', resolve))
      wire.write(BODY)
      const [status] = await wire.answers()
      return status
    },
    outcome: DELIVERED,
  },
  {
    name: '#70 HTTP/1.0 with a length',
    send: ({ url }) => writeRaw(url, `POST / HTTP/1.0\r\n${signature()}\r\n${WHOLE}\r\n\r\n${BODY}`),
    outcome: DELIVERED,
  },
  {
    name: '#70 HTTP/1.0 without a length has no body',
    send: ({ url }) => writeRaw(url, `POST / HTTP/1.0\r\n${signature()}\r\n\r\n`),
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
