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
  encoded('#59 gzip in the header but not in the body', 'gzip', reportText(), unreadable('content_encoding')),
  encoded('#59 gzip in capitals and blanks', ' GZIP ', gzipSync(reportText()), unreadable('content_encoding')),
  encoded('#59 gzip twice', 'gzip, gzip', gzipSync(gzipSync(reportText())), unreadable('content_encoding')),
  encoded('#59 an unknown encoding', 'rot13', reportText(), unreadable('content_encoding')),
  {
    name: '#59 gzip without a Content-Encoding header',
    send: ({ url }) => postSigned(url, gzipSync(reportText())),
    outcome: unreadable('not_json'),
  },
  encoded('#60 identity', 'identity', reportText(), DELIVERED),
  encoded('#60 Identity', 'Identity', reportText(), DELIVERED),
  encoded('#60 nothing', '', reportText(), DELIVERED),
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
