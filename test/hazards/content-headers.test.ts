/** Headers that describe the body, rightly or wrongly. Numbers refer to the hazard list. */
import { brotliCompressSync, zstdCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { hazards, refused, accepted, unreadable, type HazardCase, type Outcome } from '../support/hazard.ts'
import { head, keyedText, postSigned, postUnsigned, reportText, signatureOf, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })
const COMPRESSED = refused(415, 'content_encoding')

function encoded(name: string, encoding: string, body: string | Uint8Array, outcome: Outcome): HazardCase {
  return { name, send: ({ url }) => postSigned(url, body, { 'content-encoding': encoding }), outcome }
}

function typed(type: string): HazardCase {
  return {
    name: `#62 Content-Type: ${type}`,
    send: ({ url }) => postSigned(url, reportText(), { 'content-type': type }),
    outcome: DELIVERED,
  }
}

const COMPRESSIONS: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['gzip', (text) => gzipSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['br', (text) => brotliCompressSync(text)],
  ['zstd', (text) => zstdCompressSync(text)],
]

/** Values that name no encoding of a body. */
const NOT_ENCODINGS = ['identity', '', 'none', 'binary', '8bit', '7bit', 'utf-8', 'UTF8']

/** Bodies that are one event whatever the header says. */
const REPEATED: readonly (readonly [name: string, body: string | Buffer, outcome: Outcome])[] = [
  ['a report', reportText(), DELIVERED],
  ['a payment without an id or a time', '{"project":"My Shop","amount":100}', accepted({ type: 'payment' })],
  ['a payment that is compressed', gzipSync('{"amount":100}'), unreadable('content_encoding', { kind: 'payment' })],
]

hazards([
  ...COMPRESSIONS.flatMap(([encoding, compress]): readonly HazardCase[] => [
    {
      ...encoded(`#59 ${encoding}, signed over the bytes as sent`, encoding, compress(reportText()), {
        ...unreadable('content_encoding', { data: undefined }),
      }),
      also: ({ dispatched: [event] }) => expect(event?.raw).toEqual(compress(reportText())),
    },
    {
      name: `#59 ${encoding}, without a proof`,
      send: ({ url }) => postUnsigned(url, compress(keyedText()), { 'content-encoding': encoding }),
      outcome: COMPRESSED,
    },
  ]),
  {
    name: '#59 gzip that grows to 100 MB is never unpacked',
    send: ({ url }) => postUnsigned(url, gzipSync(Buffer.alloc(100_000_000)), { 'content-encoding': 'gzip' }),
    outcome: COMPRESSED,
  },
  encoded('#60 gzip in the header but not in the body', 'gzip', reportText(), DELIVERED),
  {
    name: '#60 gzip in the header but not in the body, by its authKey',
    send: ({ url }) => postUnsigned(url, keyedText(), { 'content-encoding': 'gzip' }),
    outcome: DELIVERED,
  },
  {
    name: '#60 gzip in the header but not in the body, without a proof',
    send: ({ url }) => postUnsigned(url, reportText(), { 'content-encoding': 'gzip' }),
    outcome: refused(401, 'signature_missing'),
  },
  ...REPEATED.map(([name, body, outcome]): HazardCase => {
    return {
      name: `#60 the same bytes and signature again, with another Content-Encoding: ${name}`,
      mount: { kind: name === 'a report' ? 'status' : 'payment' },
      async send({ url, receiver }) {
        const signature = { 'x-service-signature': signatureOf(body) }
        for (const encoding of ['gzip', 'br', 'identity'])
          expect(await postSigned(url, body, { ...signature, 'content-encoding': encoding })).toBe(204)
        const status = await postSigned(url, body, signature)
        expect(await receiver.stats()).toMatchObject({ accepted: 4, duplicates: 3 })
        return status
      },
      outcome,
    }
  }),
  encoded('#59 gzip in capitals and blanks', ' GZIP ', gzipSync(reportText()), unreadable('content_encoding')),
  encoded('#59 gzip twice', 'gzip, gzip', gzipSync(gzipSync(reportText())), unreadable('content_encoding')),
  encoded('#60 an unknown encoding of what is JSON', 'rot13', reportText(), DELIVERED),
  encoded('#59 an unknown encoding', 'rot13', 'cebwrpg', unreadable('content_encoding')),
  {
    name: '#59 gzip without a Content-Encoding header',
    send: ({ url }) => postSigned(url, gzipSync(reportText())),
    outcome: unreadable('not_json'),
  },
  ...NOT_ENCODINGS.flatMap((encoding): readonly HazardCase[] => [
    encoded(`#60 “${encoding}”, signed`, encoding, reportText(), DELIVERED),
    {
      name: `#60 “${encoding}”, by its authKey`,
      send: ({ url }) => postUnsigned(url, keyedText(), { 'content-encoding': encoding }),
      outcome: DELIVERED,
    },
    encoded(`#60 “${encoding}”, of what is not JSON`, encoding, 'status=success', unreadable('not_json')),
    {
      name: `#60 “${encoding}”, of what is not JSON, without a proof`,
      send: ({ url }) => postUnsigned(url, 'status=success', { 'content-encoding': encoding }),
      outcome: refused(401, 'signature_missing'),
    },
  ]),
  typed('text/plain'),
  typed('application/x-www-form-urlencoded'),
  typed('application/json; charset=utf-16'),
  typed('application/json; charset=nonsense'),
  typed('multipart/form-data; boundary=x'),
  typed('multipart/form-data'),
  typed('application/octet-stream'),
  typed(''),
  typed('/'),
  typed('application/json; charset="'),
  {
    name: '#62 no Content-Type',
    send: ({ url }) => {
      const body = reportText()
      return writeRaw(url, head(`X-Service-Signature: ${signatureOf(body)}`, `Content-Length: ${body.length}`), body)
    },
    outcome: DELIVERED,
  },
  {
    name: 'Accept: text/html',
    send: ({ url }) => postSigned(url, reportText(), { accept: 'text/html' }),
    outcome: DELIVERED,
  },
])
