/**
 * Signed requests with random changes to head, framing and body, written to a socket byte for byte. Every accepted
 * request must have a valid digest for the bytes that arrived, by a calculation that shares no code with the receiver.
 */
import http from 'node:http'
import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { listen, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'
import { chunked, digestOf, nowSeconds, reportText } from '../support/wire.ts'

/** 100,000 for a long run; the seed that a failure prints repeats it. */
const REQUESTS = Number(process.env['REQUESTS'] ?? 1_500)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const AT_ONCE = 32

/** The receiver's statuses, and Node's own for requests that never arrive whole. No 503: nothing is unavailable. */
const ANSWERS: ReadonlySet<number> = new Set([100, 204, 400, 401, 405, 408, 413, 415, 417, 431])

const GOOD = { project: 'My Shop', messageId: 'good', channel: 'sms', status: 'success' }

type Random = () => number

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const below = (random: Random, most: number): number => Math.floor(random() * most)

function oneOf<T>(random: Random, items: readonly T[]): T {
  const item = items[below(random, items.length)]
  if (item === undefined) throw new Error('There is nothing to choose from.')
  return item
}

/** The parts of a request before it becomes bytes. */
interface Draft {
  readonly lines: string[]
  readonly signature: { t: string; v1: string }
  body: string
  readonly nth: number
}

type Bend = (draft: Draft, random: Random) => void

const HEADERS = [
  'Content-Encoding: gzip',
  'Content-Encoding: identity',
  'Content-Type: text/plain; charset=utf-16',
  'Expect: 100-continue',
  'Expect: nothing',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Connection: close',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Content-Length: 0',
  'Content-Length: 7',
  'Trailer: X-Service-Signature',
  'X-HTTP-Method-Override: GET',
  'Cookie: a=b',
  ' folded: line',
  'no colon',
  `X-Long: ${'x'.repeat(20_000)}`,
]

const BENDS: readonly Bend[] = [
  ({ lines }, random) => void lines.splice(below(random, lines.length + 1), 0, oneOf(random, HEADERS)),
  ({ lines }, random) => void lines.splice(below(random, lines.length), 1),
  ({ lines }, random) => void lines.push(oneOf(random, [...lines, 'Host: elsewhere'])),
  ({ signature }, random) => void (signature.t = String(Number(signature.t) + below(random, 900) - 450)),
  ({ signature }, random) =>
    void (signature.t = oneOf(random, [
      `0${signature.t}`,
      `+${signature.t}`,
      `${signature.t}.0`,
      '',
      '-1',
      '9'.repeat(12),
    ])),
  ({ signature }, random) =>
    void (signature.v1 = oneOf(random, [
      signature.v1.toUpperCase(),
      signature.v1.slice(1),
      `${signature.v1},v1=${'0'.repeat(64)}`,
      `${'f'.repeat(64)},v1=${signature.v1}`,
      `${signature.v1},t=${signature.t}`,
      digestOf(signature.t, ''),
    ])),
  (draft) => void (draft.body = draft.body.replace('success', 'failed')),
  (draft, random) => void (draft.body = draft.body.slice(0, below(random, draft.body.length))),
  (draft) => void (draft.body = `${draft.body} `),
  (draft) => void (draft.body = `\u00ef\u00bb\u00bf${draft.body}`),
  (draft, random) => {
    const place = below(random, draft.body.length)
    draft.body = draft.body.slice(0, place) + String.fromCharCode(below(random, 256)) + draft.body.slice(place + 1)
  },
]

const BYTE_BENDS: readonly ((bytes: Buffer, place: number, random: Random) => Buffer)[] = [
  (bytes, place, random) => {
    bytes[place] = (bytes[place] ?? 0) ^ (1 << below(random, 8))
    return bytes
  },
  (bytes, place, random) =>
    Buffer.concat([bytes.subarray(0, place), Buffer.from([below(random, 256)]), bytes.subarray(place)]),
  (bytes, place, random) => Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1 + below(random, 8))]),
  (bytes, place, random) => {
    const length = below(random, 64)
    return Buffer.concat([bytes.subarray(0, place + length), bytes.subarray(place)])
  },
  (bytes, place) => bytes.subarray(0, place),
  (bytes) => Buffer.concat([bytes, bytes]),
]

/** A signed request with zero to three changes. */
function draw(nth: number, random: Random): Buffer {
  const body = reportText({ messageId: `m-${nth}`, note: 'x'.repeat(below(random, 200)) })
  const t = String(nowSeconds())
  const draft: Draft = {
    lines: ['Host: localhost', 'Content-Type: application/json'],
    signature: { t, v1: digestOf(t, body) },
    body,
    nth,
  }
  const bends = below(random, 4)
  for (let bend = 0; bend < bends; bend += 1) if (random() < 0.6) oneOf(random, BENDS)(draft, random)
  const { lines, signature } = draft
  const isChunked = random() < 0.4
  const framed = isChunked ? chunked(draft.body, 1 + below(random, 80)) : draft.body
  const head = [
    oneOf(random, [
      'POST / HTTP/1.1',
      'POST / HTTP/1.1',
      'POST / HTTP/1.1',
      'POST / HTTP/1.0',
      'PUT / HTTP/1.1',
      'POST * HTTP/1.1',
    ]),
    ...lines,
    `X-Service-Signature: t=${signature.t},v1=${signature.v1}`,
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${draft.body.length}`,
  ]
  let bytes: Buffer = Buffer.from(`${head.join('\r\n')}\r\n\r\n${framed}`, 'latin1')
  for (let bend = 0; bend < bends; bend += 1)
    if (random() < 0.4) bytes = oneOf(random, BYTE_BENDS)(bytes, below(random, bytes.length), random)
  return bytes
}

/** Writes the bytes in pieces and ends; returns everything received until the other side has closed. */
function exchange(port: number, bytes: Buffer, cut: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      socket.write(bytes.subarray(0, cut))
      socket.end(bytes.subarray(cut))
    })
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (text += chunk))
    socket.on('end', () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
}

/** Whether a digest in the header is valid for the bytes, calculated apart from the receiver. */
function isSigned(rawHeaders: readonly string[], body: Buffer): boolean {
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'x-service-signature',
  )
  const [value] = values
  if (value === undefined || values.length > 1) return false
  const items = value.split(',').map((item) => item.trim().split('='))
  const [t, ...more] = items.filter(([name]) => name === 't').map(([, text]) => text ?? '')
  if (t === undefined || more.length > 0 || Math.abs(Number(t) - nowSeconds()) > 301) return false
  const right = digestOf(t, body)
  return items.some(([name, text]) => name === 'v1' && text === right)
}

test(
  `of ${REQUESTS} bent requests none that is forged is accepted (SEED=${SEED})`,
  { timeout: 1_800_000 },
  async () => {
    const unhandled = unhandledRejections()
    const random = randomFrom(SEED)
    const {
      receiver,
      url: plainUrl,
      errors,
    } = await receiving(
      { credentials: { signingSecret: SIGNING_SECRET }, ordering: { gapTimeoutMs: 0 } },
      { kind: 'status' },
    )
    const dispatched = new Set<string>()
    receiver.onAny((event) => void dispatched.add(event.raw.toString('latin1')))

    /** Bodies that arrived with a valid digest, and those answered with 204. */
    const signed = new Set<string>()
    const accepted = new Set<string>()
    let answeredAccepted = 0
    const middleware = receiver.middleware('status')
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      // Also when Node answered the client because of later bytes, and the client has gone.
      response.on('close', () => {
        const body = Buffer.concat(chunks)
        if (isSigned(request.rawHeaders, body)) signed.add(body.toString('latin1'))
        if (!response.writableFinished || response.statusCode !== 204) return
        answeredAccepted += 1
        accepted.add(body.toString('latin1'))
      })
      middleware(request, response)
    })
    const url = await listen(server)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const port = Number(new URL(url).port)

    const odd: string[] = []
    const statuses = new Map<number, number>()
    let next = 0
    async function worker(): Promise<void> {
      while (next < REQUESTS) {
        const nth = (next += 1)
        const bytes = draw(nth, random)
        const text = await exchange(port, bytes, below(random, bytes.length + 1))
        for (const [, digits] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          const status = Number(digits)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (!ANSWERS.has(status)) odd.push(`${status} for number ${nth}`)
        }
        if (text.includes(SIGNING_SECRET)) odd.push(`the secret in the answer to number ${nth}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    expect(odd).toEqual([])

    // The next request is accepted normally.
    expect((await post(plainUrl, GOOD)).status).toBe(204)
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
    const good = [...dispatched].filter((body) => body.includes(`"${GOOD.messageId}"`))
    expect(good.map((body) => dispatched.delete(body))).toEqual([true])
    // Everything answered 204 was dispatched, and nothing without a valid digest was.
    expect([...dispatched].filter((body) => !signed.has(body))).toEqual([])
    expect([...accepted].filter((body) => !dispatched.has(body))).toEqual([])
    expect((await receiver.stats()).accepted).toBeGreaterThanOrEqual(answeredAccepted + 1)
    for (const error of errors) expect(error.message + String(error.cause)).not.toContain(SIGNING_SECRET)
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
    // Proves that the changes matter: most kinds of answer occurred.
    for (const status of [204, 400, 401]) expect(statuses.get(status) ?? 0).toBeGreaterThan(0)
  },
)
