/** The signature header in every variation. Numbers refer to the hazard list. */
import { expect, test } from 'vitest'
import {
  hazards,
  serve,
  neverReachesUs,
  refused,
  reporting,
  accepted,
  type HazardCase,
  type Outcome,
} from '../support/hazard.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import {
  digestOf,
  head,
  keyedText,
  nowSeconds,
  postSigned,
  postUnsigned,
  reportText,
  signatureOf,
  writeRaw,
} from '../support/wire.ts'

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1', proof: 'signature' })
const BY_KEY = accepted({ type: 'message.delivered', proof: 'authKey' })
const MALFORMED = refused(401, 'signature_malformed')
const MISMATCH = refused(401, 'signature_mismatch')
const STALE = refused(401, 'signature_stale')

const BODY = reportText()

/** The parts of a header value: the current second, and the valid digest for it. */
interface Right {
  readonly t: number
  readonly v1: string
}

/** A case whose request is valid except for its header. */
function header(name: string, value: (right: Right) => string | readonly string[], outcome: Outcome): HazardCase {
  return {
    name,
    outcome,
    send({ url }) {
      const t = nowSeconds()
      return postSigned(url, BODY, { 'x-service-signature': value({ t, v1: digestOf(t, BODY) }) })
    },
  }
}

/** The same, with the right authKey in the body. */
function keyed(name: string, value: (right: Right) => string | readonly string[], outcome: Outcome): HazardCase {
  return {
    name,
    outcome,
    send({ url }) {
      const body = keyedText()
      const t = nowSeconds()
      return postSigned(url, body, { 'x-service-signature': value({ t, v1: digestOf(t, body) }) })
    },
  }
}

/** The digest is valid for any text as `t`. */
function rightOver(t: string): string {
  return `t=${t},v1=${digestOf(t, BODY)}`
}

hazards([
  { name: '#1 no header', send: ({ url }) => postUnsigned(url, BODY), outcome: refused(401, 'signature_missing') },
  { name: '#2 no header, right authKey', send: ({ url }) => postUnsigned(url, keyedText()), outcome: BY_KEY },
  header('#3 empty', () => '', MALFORMED),
  {
    name: '#4 blanks round the value',
    send: ({ url }) =>
      writeRaw(url, head(`X-Service-Signature: \t ${signatureOf(BODY)} \t`, `Content-Length: ${BODY.length}`), BODY),
    outcome: DELIVERED,
  },
  header('#5 a space after the comma', ({ t, v1 }) => `t=${t}, v1=${v1}`, DELIVERED),
  header('#5 two spaces after the comma', ({ t, v1 }) => `t=${t},  v1=${v1}`, MALFORMED),
  header('#6 v1 before t', ({ t, v1 }) => `v1=${v1},t=${t}`, DELIVERED),
  header('#7 sent twice, both right', ({ t, v1 }) => [`t=${t},v1=${v1}`, `t=${t},v1=${v1}`], MALFORMED),
  keyed(
    '#7 sent twice, right authKey',
    ({ t, v1 }) => [`t=${t},v1=${v1}`, `t=${t},v1=${v1}`],
    reporting(BY_KEY, 'signature_ignored'),
  ),
  header('#8 twice, joined by a proxy', ({ t, v1 }) => `t=${t},v1=${v1}, t=${t},v1=${v1}`, MALFORMED),
  header('#9 two t, the last one right', ({ t, v1 }) => `t=1,t=${t},v1=${v1}`, MALFORMED),
  header('#10 no t', ({ v1 }) => `v1=${v1}`, MALFORMED),
  header('#11 two v1, the second right', ({ t, v1 }) => `t=${t},v1=${'0'.repeat(64)},v1=${v1}`, DELIVERED),
  header('#12 six v1, the sixth right', ({ t, v1 }) => `t=${t},${`v1=${'0'.repeat(64)},`.repeat(5)}v1=${v1}`, MISMATCH),
  header('#13 a malformed v1 and a right one', ({ t, v1 }) => `t=${t},v1=potato,v1=${v1}`, DELIVERED),
  header('#14 63 digits', ({ t, v1 }) => `t=${t},v1=${v1.slice(0, 63)}`, MALFORMED),
  header('#15 capitals', ({ t, v1 }) => `t=${t},v1=${v1.toUpperCase()}`, MALFORMED),
  header('#16 zz at the end of 64 characters', ({ t, v1 }) => `t=${t},v1=${v1.slice(0, 62)}zz`, MALFORMED),
  header('#17 64 characters beyond ASCII', ({ t }) => `t=${t},v1=${'\u00e9'.repeat(64)}`, MALFORMED),
  ...['1e9', '0x10', '-1', '+1', '1.0', 'NaN', 'Infinity', ''].map((t) =>
    header(`#18 t=${t}`, () => rightOver(t), MALFORMED),
  ),
  header('#19 t with leading zeros', ({ t }) => rightOver(`000${t}`), MALFORMED),
  header('#20 t in milliseconds', ({ t }) => rightOver(`${t}000`), refused(401, 'signature_milliseconds')),
  header('#20 t of 4,000 digits', () => rightOver('9'.repeat(4_000)), refused(401, 'signature_milliseconds')),
  // A client can only send them as bytes, and Node reads header bytes as latin1.
  header('#21 Arabic-Indic digits', () => Buffer.from('t=١٧٣٢,v1=').toString('latin1') + '0'.repeat(64), MALFORMED),
  keyed('#24 stale t, wrong digest, right authKey', ({ t, v1 }) => `t=${t - 400},v1=${v1}`, STALE),
  header('#26 a value of 10 kB', ({ t, v1 }) => `t=${t},v1=${v1},x=${'y'.repeat(10_000)}`, MALFORMED),
  header('#26 5,000 items', ({ t, v1 }) => `t=${t},v1=${v1}${',x'.repeat(5_000)}`, MALFORMED),
  header('#26 5,000 =', ({ t, v1 }) => `t=${t},v1=${v1}${'='.repeat(5_000)}`, MALFORMED),
  header(
    '4,000 characters of items that we do not know',
    ({ t, v1 }) => `t=${t},v1=${v1}${',x=y'.repeat(900)}`,
    DELIVERED,
  ),
  {
    name: '#27 a header block over 16 KiB',
    send: ({ url }) => postSigned(url, BODY, { 'x-other': 'x'.repeat(20_000) }),
    outcome: neverReachesUs(431),
  },
  {
    name: '#29 signature in the trailers only',
    send: ({ url }) =>
      writeRaw(
        url,
        head('Transfer-Encoding: chunked', 'Trailer: X-Service-Signature'),
        `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nX-Service-Signature: ${signatureOf(BODY)}\r\n\r\n`,
      ),
    outcome: refused(401, 'signature_missing'),
  },
  {
    name: 'signature in the query',
    send: ({ url }) => postUnsigned(`${url}?X-Service-Signature=${signatureOf(BODY)}`, BODY),
    outcome: refused(401, 'signature_missing'),
  },
])

const signedBodies: readonly (readonly [what: string, signed: string, sent: string])[] = [
  ['the body and a line end', `${BODY}\n`, BODY],
  ['the body in another letter case', BODY.toUpperCase(), BODY],
]
hazards(
  signedBodies.map(([what, signed, sent]) => ({
    name: `#28 a digest over ${what}`,
    send: ({ url }) => postSigned(url, sent, { 'x-service-signature': signatureOf(signed) }),
    outcome: MISMATCH,
  })),
)

const warnings: string[] = []
const listening = {
  debug() {},
  info() {},
  error() {},
  warn: (_: object, message: string) => void warnings.push(message),
}
const LINE_END_SECRET = `${SIGNING_SECRET}\n`

hazards([
  {
    name: '#30 warns at the start of a secret with a line end',
    options: {
      credentials: [{ signingSecret: LINE_END_SECRET }, { authKey: AUTH_KEY }],
      logger: listening,
    },
    send: ({ url }) => postSigned(url, BODY),
    outcome: MISMATCH,
    also: () => expect(warnings[0]).toContain('white space'),
  },
  {
    name: '#30 and uses it as it is',
    options: { credentials: [{ signingSecret: LINE_END_SECRET }, { authKey: AUTH_KEY }] },
    send: ({ url }) => postSigned(url, BODY, { 'x-service-signature': signatureOf(BODY, { secret: LINE_END_SECRET }) }),
    outcome: DELIVERED,
  },
])

test('#27 after 2,100 headers before the signature, no callback is accepted on half of its headers', async () => {
  const { url, dispatched } = await serve()
  const many = Array.from({ length: 2_100 }, (_, index) => `a${index}:`)
  const lines = head(...many, `X-Service-Signature: ${signatureOf(BODY)}`, `Content-Length: ${BODY.length}`)
  expect(await writeRaw(url, lines, BODY)).toBe(431)
  expect(dispatched).toEqual([])
  expect(await postSigned(url, BODY)).toBe(204)
})
