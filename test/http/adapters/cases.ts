/**
 * The table of cases that every adapter must pass. `adapterCases` runs it against a real listening server, in its own test file:
 *
 *   adapterCases('Express 5', {
 *     start: async (options) => { const receiver = createReceiver(options); …; return { url, observed: watched(receiver), close } },
 *     parser: { start: …the same behind a body parser…, code: 'body_already_parsed', says: 'express.json()' },
 *     cannot: { 'a client that leaves': 'the gateway holds the request until all of it is there' },
 *   })
 *
 * `options` are plain data, so that they can go to another process as JSON; that process answers `observed` in its own way.
 * `url` is where the receiver's `status` is mounted: any path. `start` is called up to three times, each time before a case
 * that needs it; `close` ends servers and receivers. `says` is a part of the framework's own fix, which the error must contain.
 * `cannot` skips a case by its name and prints the reason: the adapter's page has the same text.
 * A platform without its own server gets a small one in its test that turns requests into the platform's input.
 */
import http from 'node:http'
import net from 'node:net'
import { gzipSync } from 'node:zlib'
import type { CredentialPair } from 'messaging-webhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, SIGNING_SECRET } from '../../support/receiving.ts'
import { titleWith } from '../../support/skipping.ts'
import { chunked, connect, keyedText, reportText, request, signatureOf } from '../../support/wire.ts'
import type { Observed } from './watched.ts'

/** For `createReceiver`, unchanged. */
export interface AdapterOptions {
  readonly credentials: CredentialPair
  readonly logger: false
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
}

export interface StartedAdapter {
  readonly url: string
  readonly observed: () => Observed | Promise<Observed>
  readonly close: () => unknown
}

export interface Adapter {
  readonly start: (options: AdapterOptions) => Promise<StartedAdapter>
  /** The path where a parser read the body before; undefined if that is impossible. */
  readonly parser?: {
    readonly start: (options: AdapterOptions) => Promise<StartedAdapter>
    readonly code: 'body_already_parsed' | 'body_already_read'
    readonly says: string
  }
  readonly cannot?: Partial<Record<CaseName, string>>
}

const MAX_BODY_BYTES = 64 * 1024
const OPTIONS: AdapterOptions = {
  credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
  logger: false,
  maxBodyBytes: MAX_BODY_BYTES,
  // A busy machine may be slow; the tests of time limits have their own.
  bodyTimeoutMs: 60_000,
}

/** Bodies that do not survive being read as text or serialized again. */
const EXACT = {
  'a BOM': Buffer.concat([Buffer.from('efbbbf', 'hex'), Buffer.from(reportText({ messageId: 'bom' }))]),
  'bytes that are not UTF-8': Buffer.concat([
    Buffer.from('{"messageId":"'),
    Buffer.from('c328ff80eda080', 'hex'),
    Buffer.from('"}'),
  ]),
  'an emoji': Buffer.from(reportText({ messageId: 'emoji-\u{1F980}' })),
  'a byte of zero': Buffer.concat([Buffer.from(reportText({ messageId: 'zero' })), Buffer.from([0])]),
  'white space': Buffer.from(`\r\n${JSON.stringify({ messageId: 'wide', status: 'success' }, undefined, '\t')} \n`),
} as const

/** The input of each case: the shared server, or a function that starts another one. */
interface Given {
  readonly app: StartedAdapter
  readonly startSlow: () => Promise<StartedAdapter>
}

const CASES = {
  ...exactCases(),

  async 'a body in chunks'({ app }: Given) {
    const body = Buffer.from(reportText({ messageId: 'in-chunks-\u{1F980}' }))
    const wire = await connect(app.url)
    wire.write(head(app.url, 'Transfer-Encoding: chunked', `X-Service-Signature: ${signatureOf(body)}`))
    // Each character of the emoji is cut in two.
    wire.write(chunked(body.toString('latin1'), 1))
    expect(await wire.answers()).toEqual([204])
    await untilDispatched(app, body)
  },

  async 'a body that is too large, as announced'({ app }: Given) {
    const before = await errorsOf(app)
    expect(await send(app.url, tooLarge())).toMatchObject({ status: 413 })
    expect(await errorsOf(app)).toEqual([...before, 'body_too_large'])
    await expectAccepted(app)
  },

  async 'a body that is too large, in chunks'({ app }: Given) {
    const before = await errorsOf(app)
    const sent = { ...tooLarge(), headers: { 'transfer-encoding': 'chunked' } }
    expect(await send(app.url, sent)).toMatchObject({ status: 413 })
    expect(await errorsOf(app)).toEqual([...before, 'body_too_large'])
    await expectAccepted(app)
  },

  async 'a client that never stops sending'({ app }: Given) {
    const { hostname, port } = new URL(app.url)
    const socket = net.connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {}).resume()
    socket.write(head(app.url, 'Content-Length: 100000000000'))
    // Once the connection is cut off, a write fails; a client that ignores that would write for ever.
    function write(error?: Error | null): void {
      if (!socket.destroyed && !error) socket.write(Buffer.alloc(65_536), write)
    }
    write()
    await closed
    await expectAccepted(app)
  },

  async 'a stalled body'({ startSlow }: Given) {
    const app = await startSlow()
    const wire = await connect(app.url)
    wire.write(head(app.url, 'Content-Length: 100'), '{')
    expect(await wire.answers()).toEqual([408])
    expect(await errorsOf(app)).toEqual(['body_too_slow'])
    await expectAccepted(app)
  },

  async 'a client that leaves'({ app }: Given) {
    const { errors, dispatched } = await app.observed()
    const body = keyedText({ messageId: 'left' })
    const wire = await connect(app.url)
    wire.write(head(app.url, `Content-Length: ${body.length + 1}`), body)
    wire.socket.end()
    await expect.poll(() => errorsOf(app)).toEqual([...errors.map(({ code }) => code), 'body_incomplete'])
    expect((await app.observed()).dispatched).toEqual(dispatched)
    await expectAccepted(app)
  },

  async 'a signature header sent twice'({ app }: Given) {
    const body = reportText({ messageId: 'twice' })
    const before = await errorsOf(app)
    const value = signatureOf(body)
    const headers = { 'x-service-signature': [value, value] }
    expect(await request(app.url, { body, headers })).toMatchObject({ status: 401 })
    expect(await errorsOf(app)).toEqual([...before, 'signature_malformed'])
  },

  async 'a signature header sent twice, beside the right authKey'({ app }: Given) {
    const body = Buffer.from(keyedText({ messageId: 'twice-keyed' }))
    const value = signatureOf(body)
    expect(await request(app.url, { body, headers: { 'x-service-signature': [value, value] } })).toMatchObject({
      status: 204,
    })
    await expect
      .poll(async () => (await app.observed()).dispatched.map(({ messageId }) => messageId))
      .toContain('twice-keyed')
  },

  async 'a signature header with a space after its comma'({ app }: Given) {
    const body = Buffer.from(reportText({ messageId: 'spaced' }))
    const headers = { 'x-service-signature': signatureOf(body).replace(',', ', ') }
    expect(await request(app.url, { body, headers })).toMatchObject({ status: 204 })
    await untilDispatched(app, body)
  },

  async 'a compressed body'({ app }: Given) {
    const body = gzipSync(reportText())
    const headers = { 'content-encoding': 'gzip' }
    expect(await request(app.url, { body, headers })).toMatchObject({ status: 415 })
    // The signature is valid for the bytes as they were sent.
    const signed = { ...headers, 'x-service-signature': signatureOf(body) }
    expect(await request(app.url, { body, headers: signed })).toMatchObject({ status: 204 })
    await untilDispatched(app, body)
  },

  async 'GET and HEAD'({ app }: Given) {
    for (const method of ['GET', 'HEAD'])
      expect(await request(app.url, { method })).toMatchObject({ status: 405, headers: { allow: 'POST' } })
  },

  async 'the words of a refusal'({ app }: Given) {
    const { status, headers, text } = await request(app.url, { body: reportText() })
    expect({ status, type: headers['content-type'] }).toEqual({ status: 401, type: 'application/json; charset=utf-8' })
    expect(JSON.parse(text)).toEqual({ error: { code: 'not_authentic', message: 'The request is not authentic.' } })
  },

  async 'a kept connection after each refusal'({ app }: Given) {
    const refusals: readonly (Sent & { readonly status: number })[] = [
      { status: 405, method: 'GET' },
      { status: 405, method: 'HEAD' },
      { status: 405, method: 'PUT', body: reportText() },
      { status: 401, body: reportText() },
      { status: 401, body: '' },
      { status: 413, ...tooLarge() },
      { status: 413, ...tooLarge(), headers: { 'transfer-encoding': 'chunked' } },
      { status: 415, body: gzipSync(reportText()), headers: { 'content-encoding': 'gzip' } },
    ]
    for (const { status, ...refused } of refusals) {
      // It continues if it may, and reconnects if it was asked to: a callback that it sends then is not lost.
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      onTestFinished(() => agent.destroy())
      expect(await send(app.url, refused, agent)).toMatchObject({ status })
      await expectAccepted(app, agent)
    }
  },

  async '300 at once'({ app }: Given) {
    const bodies = Array.from({ length: 300 }, (_, nth) => Buffer.from(reportText({ messageId: `at-once-${nth}` })))
    const answers = await Promise.all(
      bodies.map((body) => request(app.url, { body, headers: { 'x-service-signature': signatureOf(body) } })),
    )
    expect(answers.filter(({ status }) => status !== 204)).toEqual([])
    const expected = new Set(bodies.map((body) => body.toString('hex')))
    const dispatched = async (): Promise<readonly string[]> => (await rawsOf(app)).filter((raw) => expected.has(raw))
    await expect.poll(async () => (await dispatched()).length).toBe(300)
    expect(new Set(await dispatched())).toEqual(expected)
  },

  async 'an event that reaches its handler, once'({ app }: Given) {
    const body = keyedText({ messageId: 'handled' })
    for (let time = 0; time < 2; time += 1) expect(await request(app.url, { body })).toMatchObject({ status: 204 })
    const handled = async (): Promise<number> =>
      (await app.observed()).dispatched.filter(({ messageId }) => messageId === 'handled').length
    await expect.poll(handled).toBe(1)
    await expectAccepted(app)
    expect(await handled()).toBe(1)
  },
}

const PARSED = 'a body that a parser has read'

type CaseName = keyof typeof CASES | typeof PARSED

export function adapterCases(name: string, { start, parser, cannot = {} }: Adapter): void {
  describe(`${name}: every adapter's cases`, () => {
    let shared: StartedAdapter | undefined
    beforeAll(async () => {
      shared = await start(OPTIONS)
    })
    afterAll(async () => {
      await shared?.close()
    })

    async function startOwn(startIt: Adapter['start'], options: Partial<AdapterOptions> = {}): Promise<StartedAdapter> {
      const own = await startIt({ ...OPTIONS, ...options })
      onTestFinished(async () => {
        await own.close()
      })
      return own
    }

    for (const [title, run] of Object.entries<(given: Given) => Promise<void>>(CASES))
      declare(title as CaseName, async () => {
        if (shared === undefined) throw new Error('The adapter has not started.')
        await run({ app: shared, startSlow: () => startOwn(start, { bodyTimeoutMs: 200 }) })
      })

    declare(PARSED, async () => {
      if (parser === undefined) throw new Error('An adapter without a parser says why in `cannot`.')
      await refusedBehindParser(await startOwn(parser.start), parser)
    })

    function declare(title: CaseName, run: () => Promise<void>): void {
      test.skipIf(cannot[title] !== undefined)(titleWith(cannot[title], title), run)
    }
  })
}

async function refusedBehindParser(app: StartedAdapter, { code, says }: NonNullable<Adapter['parser']>): Promise<void> {
  const body = reportText({ messageId: 'parsed' })
  const headers = { 'x-service-signature': signatureOf(body) }
  expect(await request(app.url, { body, headers })).toMatchObject({ status: 401 })
  const { errors, dispatched } = await app.observed()
  expect(errors.map((error) => error.code)).toEqual([code])
  expect(errors[0]?.message).toContain(says)
  expect(dispatched).toEqual([])
  // A parsed body still contains the authKey; a discarded one does not.
  const status = code === 'body_already_parsed' ? 204 : 401
  expect(await request(app.url, { body: keyedText() })).toMatchObject({ status })
}

/** One case for each body, proved by its signature alone. */
function exactCases(): Record<`${keyof typeof EXACT}, to the byte`, (given: Given) => Promise<void>> {
  const one =
    (body: Buffer) =>
    async ({ app }: Given): Promise<void> => {
      const headers = { 'x-service-signature': signatureOf(body) }
      expect(await request(app.url, { body, headers })).toMatchObject({ status: 204 })
      await untilDispatched(app, body)
    }
  return {
    'a BOM, to the byte': one(EXACT['a BOM']),
    'bytes that are not UTF-8, to the byte': one(EXACT['bytes that are not UTF-8']),
    'an emoji, to the byte': one(EXACT['an emoji']),
    'a byte of zero, to the byte': one(EXACT['a byte of zero']),
    'white space, to the byte': one(EXACT['white space']),
  }
}

/** As the service sends it; some platforms check it. */
const JSON_TYPE = { 'content-type': 'application/json' }

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

function tooLarge(): Sent {
  return { body: 'x'.repeat(MAX_BODY_BYTES + 1) }
}

/** Reads the whole answer before anything else is sent. */
function send(
  url: string,
  { method = 'POST', headers = {}, body }: Sent,
  agent: http.Agent | false = false,
): Promise<{ readonly status: number | undefined }> {
  return new Promise((resolve, reject) => {
    const length = method === 'GET' || method === 'HEAD' ? {} : { 'content-length': Buffer.byteLength(body ?? '') }
    const framing = 'transfer-encoding' in headers ? {} : length
    const sent = http.request(url, { method, agent, headers: { ...JSON_TYPE, ...framing, ...headers } }, (response) => {
      response.resume().once('end', () => resolve({ status: response.statusCode }))
    })
    sent.on('error', reject)
    if (body !== undefined) sent.write(body)
    sent.end()
  })
}

let good = 0

/** Sends a good callback, which must be accepted and dispatched. */
async function expectAccepted(app: StartedAdapter, agent?: http.Agent): Promise<void> {
  const body = Buffer.from(reportText({ messageId: `good-${(good += 1)}` }))
  const headers = { 'x-service-signature': signatureOf(body) }
  expect(await send(app.url, { body, headers }, agent)).toMatchObject({ status: 204 })
  await untilDispatched(app, body)
}

async function untilDispatched(app: StartedAdapter, body: Buffer): Promise<void> {
  await expect.poll(() => rawsOf(app)).toContain(body.toString('hex'))
}

async function rawsOf(app: StartedAdapter): Promise<readonly string[]> {
  return (await app.observed()).dispatched.map(({ raw }) => raw)
}

async function errorsOf(app: StartedAdapter): Promise<readonly string[]> {
  return (await app.observed()).errors.map(({ code }) => code)
}

function head(url: string, ...lines: readonly string[]): string {
  const { host, pathname } = new URL(url)
  return [`POST ${pathname} HTTP/1.1`, `Host: ${host}`, 'Content-Type: application/json', ...lines, '', ''].join('\r\n')
}
