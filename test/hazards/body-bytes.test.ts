/** Bodies whose bytes are not a plain JSON object. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, refused, accepted, unreadable, type HazardCase, type Outcome } from '../support/hazard.ts'
import { AUTH_KEY } from '../support/receiving.ts'
import { keyedText, postSigned, postUnsigned, reportText, writeRaw } from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', proof: 'signature' })
const MARK = Buffer.of(0xef, 0xbb, 0xbf)
const MIB = 1024 * 1024
const timestamp = 1_760_000_000

/** A body with a valid signature. */
function signed(name: string, body: string | Uint8Array, outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  return { name, send: ({ url }) => postSigned(url, body), outcome, ...more }
}

/** A body without a signature; it may have an authKey. */
function unsigned(name: string, body: string | Uint8Array, outcome: Outcome): HazardCase {
  return { name, send: ({ url }) => postUnsigned(url, body), outcome }
}

const NO_PROOF = refused(401, 'signature_missing')

/** A report with these bytes in place of `?` in one of its fields. */
function withBytes(text: string, ...bytes: readonly number[]): Buffer {
  const [before = '', after = ''] = text.split('?')
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}

function utf16be(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

function utf32(text: string): Buffer {
  const bytes = Buffer.alloc(text.length * 4)
  for (let index = 0; index < text.length; index += 1) bytes.writeUInt32LE(text.charCodeAt(index), index * 4)
  return bytes
}

hazards([
  signed('#31 empty', '', unreadable('empty_body', { data: undefined, payload: undefined })),
  unsigned('#32 empty, no proof', '', NO_PROOF),
  {
    name: 'no body and no length at all',
    send: ({ url }) => writeRaw(url, 'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    outcome: NO_PROOF,
  },
  signed('#33 a byte order mark and JSON', Buffer.concat([MARK, Buffer.from(reportText())]), DELIVERED),
  unsigned(
    '#33 a byte order mark and JSON with the authKey',
    Buffer.concat([MARK, Buffer.from(keyedText())]),
    accepted({ type: 'message.delivered', proof: 'authKey' }),
  ),
  signed('#34 UTF-16, little end first', Buffer.from(reportText(), 'utf16le'), unreadable('not_json')),
  signed('#34 UTF-16 with the authKey in it', Buffer.from(keyedText(), 'utf16le'), unreadable('not_json'), {
    also: ({ dispatched: [event] }) => expect(event?.raw.toString('utf16le')).not.toContain(AUTH_KEY),
  }),
  signed('#34 UTF-16, big end first, with the authKey in it', utf16be(keyedText()), unreadable('not_json'), {
    also: ({ dispatched: [event] }) =>
      expect(
        Buffer.from(event?.raw ?? [])
          .swap16()
          .toString('utf16le'),
      ).not.toContain(AUTH_KEY),
  }),
  signed('#34 UTF-32 with the authKey in it', utf32(keyedText()), unreadable('not_json'), {
    also: ({ dispatched: [event] }) => expect(event?.raw.includes(utf32(AUTH_KEY))).toBe(false),
  }),
  signed(
    '#35 bytes that are not UTF-8 in a free field',
    withBytes(reportText({ note: 'a?b' }), 0xff, 0xc0),
    accepted({ type: 'message.delivered', payload: { note: 'a\uFFFD\uFFFDb' } }),
    {
      also: ({ dispatched: [event] }) => expect(event?.raw).toEqual(withBytes(reportText({ note: 'a?b' }), 0xff, 0xc0)),
    },
  ),
  ...['messageId', 'status', 'project'].map((field): HazardCase => ({
    name: `#36 0xff and 0xfe in ${field} are two events`,
    options: { networks: { b: 'carrierB' } },
    async send({ url }) {
      await postSigned(url, withBytes(reportText({ network: 'b', status: 'x', timestamp, [field]: '?' }), 0xff))
      return postSigned(url, withBytes(reportText({ network: 'b', status: 'x', timestamp, [field]: '?' }), 0xfe))
    },
    outcome: accepted({ type: 'message.failed' }, { type: 'message.failed' }),
  })),
  {
    name: '#37 two lone surrogates as ids are two events',
    async send({ url }) {
      await postSigned(url, '{"messageId":"\\ud800","status":"success","timestamp":1760000000}')
      return postSigned(url, '{"messageId":"\\ud801","status":"success","timestamp":1760000000}')
    },
    outcome: accepted(
      { type: 'message.delivered', messageId: '\ud800', anomalies: ['inexact_id'] },
      { type: 'message.delivered', messageId: '\ud801', anomalies: ['inexact_id'] },
    ),
  },
  signed(
    '#38 an escaped NUL in an id',
    reportText({ messageId: 'a\u0000b' }),
    accepted({ type: 'message.delivered', messageId: 'a\u0000b' }),
  ),
  signed('#38 an escaped NUL in a free field', reportText({ note: '\u0000' }), DELIVERED),
  signed('#39 a NUL as it is', reportText({ note: '?' }).replace('?', '\0'), unreadable('not_json')),
  signed('#40 a NUL behind the JSON', `${reportText()}\0`, unreadable('not_json')),
  signed('#40 two JSON values on two lines', `${reportText()}\n${reportText()}`, unreadable('not_json')),
  signed('#41 cut off inside the authKey', keyedText().slice(0, -6), unreadable('not_json')),
  unsigned('#41 cut off behind the right authKey', keyedText().slice(0, -1), NO_PROOF),
  ...['[]', `[${reportText()}]`, '"text"', '1', 'null', 'true', '-0'].flatMap((body) => [
    signed(`#42 ${body}, signed`, body, unreadable('not_an_object')),
    unsigned(`#42 ${body}, without a proof`, body, NO_PROOF),
  ]),
  ...['undefined', 'NaN', "{'a':1}", '{a:1}', '{"a":1,}', '{"a":01}', '{"a":+1}', '/**/{}', '{"a":.5}', '\v{}'].map(
    (body) => signed(`JavaScript that is not JSON: ${JSON.stringify(body)}`, body, unreadable('not_json')),
  ),
  signed(
    '#43 messageId twice, the last one wins',
    reportText().replace('{', '{"messageId":"first",'),
    accepted({ type: 'message.delivered', messageId: 'm-1', anomalies: ['duplicate_key'] }),
  ),
  signed(
    '#48 numbers that JavaScript cannot hold',
    reportText({ amount: '?' }).replace('"?"', '1e400,"b":-1e999999,"c":1e200000'),
    accepted({ type: 'message.delivered', payload: { amount: Infinity, b: -Infinity } }),
    { also: ({ dispatched: [event] }) => expect(event?.raw.toString()).toContain('1e400,"b":-1e999999,"c":1e200000') },
  ),
  signed('#64 JSON inside a JSON string with the authKey', JSON.stringify(keyedText()), unreadable('double_encoded')),
  unsigned('#64 JSON inside a JSON string by the authKey alone', JSON.stringify(keyedText()), NO_PROOF),
  unsigned(
    '#63 a form with the right authKey',
    `project=My+Shop&messageId=m-1&status=success&authKey=${AUTH_KEY}`,
    NO_PROOF,
  ),
  signed('255 KiB of quotes', '"'.repeat(MIB / 4 - 1_024), unreadable('not_json')),
  signed('255 KiB of backslashes in a string', `"${'\\'.repeat(MIB / 4 - 1_024)}`, unreadable('not_json')),
  signed('a text of escaped quotes that never ends', `"${'\\"'.repeat(120_000)}`, unreadable('not_json')),
])
