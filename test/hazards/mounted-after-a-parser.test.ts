/** Applications that read or change the request before the receiver. Numbers refer to the hazard list. */
import { gzipSync } from 'node:zlib'
import http from 'node:http'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import { expect } from 'vitest'
import type { Middleware } from 'messaging-webhooks'
import {
  hazards,
  neverReachesUs,
  refused,
  reporting,
  accepted,
  type HazardCase,
  type Outcome,
} from '../support/hazard.ts'
import { keyedText, postSigned, postUnsigned, reportText, request, signatureOf } from '../support/wire.ts'

type Application = (middleware: Middleware) => http.RequestListener
type Step = (
  incoming: http.IncomingMessage & { body?: unknown; rawBody?: unknown },
  response: http.ServerResponse,
  next: (error?: unknown) => void,
) => void

const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1', proof: 'signature' })
const BY_KEY = accepted({ type: 'message.delivered', messageId: 'm-1', proof: 'authKey' })
const PARSED = refused(401, 'body_already_parsed')
const READ = refused(401, 'body_already_read')
const MISMATCH = refused(401, 'signature_mismatch')

/** The steps run before the receiver for requests that ask for them; the good callback at the end skips them. */
function after(...steps: readonly Step[]): Application {
  return (middleware) => {
    const application = connect()
    application.use((incoming, response, next) => {
      if (incoming.headers['x-bent'] === undefined) middleware(incoming, response)
      else next()
    })
    for (const step of steps) application.use(step)
    application.use(middleware)
    return application
  }
}

const BENT = { 'x-bent': 'yes' }

/** A signed callback to an application with these steps. */
function signed(name: string, steps: readonly Step[], outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  const send: HazardCase['send'] = ({ url }) => postSigned(url, reportText(), BENT)
  return { name, mount: { within: after(...steps) }, send, outcome, ...more }
}

/** A callback with the right authKey and no signature. */
function keyed(name: string, steps: readonly Step[], outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  return signed(name, steps, outcome, { send: ({ url }) => postUnsigned(url, keyedText(), BENT), ...more })
}

/** Reads the whole body and leaves it where the step says. */
function reading(leave: (incoming: Parameters<Step>[0], bytes: Buffer) => void): Step {
  return (incoming, _, next) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => void parts.push(part))
    incoming.on('end', () => {
      leave(incoming, Buffer.concat(parts))
      next()
    })
  }
}

const keepsRawBody = express.json({
  verify: (incoming: Parameters<Step>[0], _, bytes) => void (incoming.rawBody = bytes),
})

const JSON_PARSER = express.json()
const RAW = express.raw({ type: () => true })
const TEXT = express.text({ type: () => true })
const PARSED_BY_KEY = reporting(BY_KEY, 'body_already_parsed')

/** A step that sets one property once the body is read. */
const encodedAs =
  (encoding: BufferEncoding): Step =>
  (incoming, _, next) =>
    next(void incoming.setEncoding(encoding))

/** The body with a byte in it that is not UTF-8. */
function withoutUtf8(text: string): Buffer {
  const bytes = Buffer.from(text)
  bytes[bytes.indexOf('?')] = 0xff
  return bytes
}

/** The body with the first three bytes of an emoji in place of its three question marks. */
function cutEmoji(text: string): Buffer {
  const bytes = Buffer.from(text)
  bytes.set([0xf0, 0x9f, 0x98], bytes.indexOf('???'))
  return bytes
}

/** POSTs a signed body in two parts that break a character. */
function postInPieces(url: string, text: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(text)
    const middle = bytes.indexOf('😀') + 2
    const headers = { ...BENT, 'content-length': bytes.length, 'x-service-signature': signatureOf(text) }
    const outgoing = http.request(url, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    outgoing.on('error', reject)
    outgoing.write(bytes.subarray(0, middle))
    setTimeout(() => outgoing.end(bytes.subarray(middle)), 50)
  })
}

const leaving = (name: 'body' | 'rawBody', value: unknown): Step => reading((incoming) => void (incoming[name] = value))

/** A compressed body, to an application that inflates it, with these headers and proofs. */
function inflated(name: string, step: Step, text: string, outcome: Outcome, signature?: string | Buffer): HazardCase {
  const headers = { ...BENT, 'content-encoding': 'gzip' }
  return signed(`#61 ${name}`, [step], outcome, {
    send: ({ url }) =>
      signature === undefined
        ? postUnsigned(url, gzipSync(text), headers)
        : postSigned(url, gzipSync(text), { ...headers, 'x-service-signature': signatureOf(signature) }),
  })
}

hazards([
  signed('#73 express.json(), signed', [JSON_PARSER], PARSED),
  signed('#73 express.json() of Express 4, signed', [express4.json()], PARSED),
  keyed('#74 express.json(), right authKey', [JSON_PARSER], PARSED_BY_KEY),
  keyed('#74 express.json() of Express 4, right authKey', [express4.json()], PARSED_BY_KEY),
  keyed('#74 reports it once', [JSON_PARSER], PARSED_BY_KEY, {
    async send({ url }) {
      for (let count = 0; count < 3; count += 1) await postUnsigned(url, keyedText({ timestamp: 1_760_000_000 }), BENT)
      return 204
    },
  }),
  keyed('#73 express.json(), wrong authKey', [express.json()], refused(401, 'auth_key_mismatch'), {
    send: ({ url }) => postUnsigned(url, reportText({ authKey: 'wrong' }), BENT),
  }),
  signed('#73 express.json(), the policy asks for a signature', [express.json()], PARSED, {
    mount: { proof: 'signature', within: after(express.json()) },
    send: ({ url }) => postSigned(url, keyedText(), BENT),
  }),
  signed('express.json() and bytes kept in rawBody', [keepsRawBody], DELIVERED),
  ...[express.json(), express4.json()].map((json, index) =>
    signed(`#75 express.json() ${5 - index} that leaves text/plain alone`, [json], DELIVERED, {
      send: ({ url }) => postSigned(url, reportText(), { ...BENT, 'content-type': 'text/plain' }),
    }),
  ),
  signed('express.raw()', [RAW], DELIVERED),
  signed('express.raw() and no body', [RAW], refused(401, 'signature_missing'), {
    send: ({ url }) => postUnsigned(url, '', BENT),
  }),
  signed('express.text()', [TEXT], DELIVERED),
  signed('express.text(), bytes that are not UTF-8', [TEXT], PARSED, {
    send({ url }) {
      const body = Buffer.concat([
        Buffer.from(reportText({ note: '' }).slice(0, -2)),
        Buffer.of(0xff),
        Buffer.from('"}'),
      ])
      return postSigned(url, body, BENT)
    },
  }),
  signed('express.urlencoded() that takes JSON for a form', [express.urlencoded({ type: () => true })], PARSED),
  inflated('express.raw(), signed before it was compressed', RAW, reportText(), DELIVERED, reportText()),
  inflated('express.raw(), right authKey', RAW, keyedText(), BY_KEY),
  inflated('express.raw(), signed as sent', RAW, reportText(), MISMATCH, gzipSync(reportText())),
  inflated('express.json(), right authKey', JSON_PARSER, keyedText(), PARSED_BY_KEY),
  signed('express.json() rejects what is not JSON before the receiver', [JSON_PARSER], neverReachesUs(400), {
    send: ({ url }) => postSigned(url, '{', BENT),
  }),
  signed(
    '#76 rawBody of text whose bytes are not as many as announced',
    [
      reading((incoming, bytes) => {
        incoming.rawBody = bytes.toString('latin1')
        incoming.body = JSON.parse(bytes.toString())
      }),
    ],
    PARSED,
    { send: ({ url }) => postSigned(url, reportText({ note: 'é' }), BENT) },
  ),
  signed(
    '#76 rawBody of text with the same bytes',
    [reading((incoming, bytes) => void (incoming.rawBody = bytes.toString()))],
    DELIVERED,
  ),
  signed(
    'rawBody that is a Uint8Array',
    [reading((incoming, bytes) => void (incoming.rawBody = new Uint8Array(bytes)))],
    DELIVERED,
  ),
  signed(
    'rawBody larger than maxBodyBytes',
    [reading((incoming, bytes) => void (incoming.rawBody = bytes))],
    refused(413, 'body_too_large'),
    {
      options: { maxBodyBytes: 2_000 },
      send({ url }) {
        const body = reportText({ note: 'x'.repeat(2_000) })
        return request(url, { body, headers: { ...BENT, 'transfer-encoding': 'chunked' } }).then(({ status }) => status)
      },
    },
  ),
  ...[true, 42, () => 'body', Symbol('body')].map((rawBody) =>
    signed(`rawBody that is a ${typeof rawBody}`, [leaving('rawBody', rawBody)], READ),
  ),
  ...[null, undefined].map((body) => signed(`body that is ${String(body)}`, [leaving('body', body)], READ)),
  ...[42, true, [], ['m-1'], Symbol('body'), () => 'body', 10n].map((body) =>
    signed(`body that is ${typeof body} ${JSON.stringify(body, noBigint)}`, [leaving('body', body)], PARSED),
  ),
  ...unwritableBodies().map(([what, body]) => signed(`body that is ${what}`, [leaving('body', body)], PARSED)),
  signed('something read the body and left nothing', [reading(() => {})], READ),
  ...(['utf8', 'latin1', 'hex', 'base64', 'base64url', 'utf16le', 'ascii'] as const).map((encoding) =>
    signed(`#77 setEncoding('${encoding}') before the receiver`, [encodedAs(encoding)], DELIVERED),
  ),
  signed('#77 setEncoding() before the receiver, of text beyond ASCII in pieces', [encodedAs('utf8')], DELIVERED, {
    send: ({ url }) => postInPieces(url, reportText({ note: '€😀'.repeat(5_000) })),
  }),
  signed('#77 setEncoding() before the receiver, by the authKey', [encodedAs('utf8')], BY_KEY, {
    send: ({ url }) => postUnsigned(url, keyedText(), BENT),
  }),
  signed('#77 setEncoding() before the receiver, a forgery', [encodedAs('utf8')], MISMATCH, {
    send: ({ url }) => postSigned(url, reportText(), { ...BENT, 'x-service-signature': signatureOf('another') }),
  }),
  signed(
    '#77 setEncoding() of bytes that are not UTF-8, by the authKey',
    [encodedAs('utf8')],
    {
      ...reporting(BY_KEY, 'body_already_parsed'),
    },
    { send: ({ url }) => postUnsigned(url, withoutUtf8(keyedText({ note: '?' })), BENT) },
  ),
  signed('#77 setEncoding() of bytes that are not UTF-8, signed', [encodedAs('utf8')], PARSED, {
    send: ({ url }) => postSigned(url, withoutUtf8(reportText({ note: '?' })), BENT),
    also: ({ errors }) => expect(errors[0]?.message).toContain('`setEncoding`'),
  }),
  ...(
    [
      ['ascii', Buffer.from(reportText({ note: 'é' }))],
      // Three bytes that the decoder replaces by one character of three bytes.
      ['utf8', cutEmoji(reportText({ note: '???' }))],
    ] as const
  ).map(([encoding, bytes]) =>
    signed(
      `#77 setEncoding('${encoding}') that keeps the length of other bytes, signed`,
      [encodedAs(encoding)],
      MISMATCH,
      {
        send: ({ url }) => postSigned(url, bytes, BENT),
        also: ({ errors }) => expect(errors[0]?.message).toContain('`setEncoding`'),
      },
    ),
  ),
  signed(
    '#77 setEncoding() before something read it',
    [(incoming, _, next) => next(void incoming.setEncoding('utf8')), reading(() => {})],
    READ,
    {
      mount: {
        within: after((incoming, _, next) => {
          incoming.setEncoding('utf8')
          incoming.on('data', () => {})
          incoming.on('end', () => next())
        }),
      },
    },
  ),
  signed('a step that waits before it goes on', [(_, __, next) => void setTimeout(next, 20)], DELIVERED),
  signed('a step that pauses the request', [(incoming, _, next) => next(void incoming.pause())], DELIVERED),
  signed('a step that listens along', [(incoming, _, next) => next(void incoming.on('data', () => {}))], DELIVERED),
  signed('a step that has answered already', [(_, response, next) => next(void response.writeHead(202).end())], {
    ...DELIVERED,
    status: 202,
  }),
  signed(
    'a step that has destroyed the request',
    [(incoming, _, next) => next(void incoming.destroy())],
    {
      status: undefined,
      events: [],
      codes: ['body_incomplete'],
    },
    {
      send: ({ url }) => postSigned(url, reportText(), BENT).catch(() => undefined),
    },
  ),
])

function noBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/** Values that cannot be written as JSON, or not safely. */
function unwritableBodies(): readonly (readonly [what: string, body: object])[] {
  const circle: Record<string, unknown> = {}
  circle['circle'] = circle
  let deep: unknown = {}
  for (let depth = 0; depth < 100_000; depth += 1) deep = { deep }
  return [
    ['a circle', circle],
    ['too deep to write', { deep }],
    [
      'one that throws when it is written',
      {
        toJSON: () => {
          throw new Error('no')
        },
      },
    ],
    ['one that is written as nothing', { toJSON: () => undefined }],
    ['one that holds a bigint', { messageId: 10n }],
  ]
}
