/** Near `maxInflightBytes`: small bodies never wait, large ones wait for capacity, and stalled ones lose theirs. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { atRest, fakeClock } from '../support/fake-clock.ts'
import { receiving } from '../support/receiving.ts'
import { connect, head, keyedText, postUnsigned } from '../support/wire.ts'

type Wire = Awaited<ReturnType<typeof connect>>

const POLL = { timeout: 100_000, interval: 10 }
const LONG_MS = 120_000
const BODY_BYTES = 100_000
/** Capacity for ten such bodies. */
const MAX_INFLIGHT_BYTES = 1_000_000
/** Far more than the capacity. */
const MANY = 50

/** Sends this much of a large body and then nothing. */
async function stranger(url: string, bytes: number): Promise<Wire> {
  const wire = await connect(url)
  wire.write(head(`Content-Length: ${BODY_BYTES}`), 'x'.repeat(bytes))
  return wire
}

function strangers(url: string, bytes: number, count = MANY): Promise<readonly Wire[]> {
  return Promise.all(Array.from({ length: count }, () => stranger(url, bytes)))
}

function largeText(messageId = 'm-1'): string {
  const empty = keyedText({ messageId, filler: '' })
  return keyedText({ messageId, filler: 'x'.repeat(BODY_BYTES - empty.length) })
}

/** The clock advances only when a test advances it, so that results do not depend on luck. */
async function nearTheBound(options: { readonly bodyTimeoutMs?: number } = {}) {
  const clock = fakeClock()
  const service = await receiving({ clock, maxInflightBytes: MAX_INFLIGHT_BYTES, ...options })
  let requests = 0
  service.server.on('request', () => (requests += 1))
  /** Resolves when this many requests have begun, and their data was read. */
  async function begun(count: number): Promise<void> {
    await expect.poll(() => requests, POLL).toBe(count)
    await atRest()
  }
  async function passTimeUntil(isTrue: () => boolean): Promise<void> {
    await expect
      .poll(async () => {
        await clock.advance(100)
        return isTrue()
      }, POLL)
      .toBe(true)
  }
  return { ...service, clock, begun, passTimeUntil }
}

test('small bodies do not wait for large ones that have stalled', { timeout: LONG_MS }, async () => {
  const { url, errors } = await nearTheBound()
  await strangers(url, BODY_BYTES - 1)
  const answers = Array.from({ length: 20 }, (_, index) => postUnsigned(url, keyedText({ messageId: `m-${index}` })))
  expect(await Promise.all(answers)).toEqual(Array(20).fill(204))
  expect(errors).toEqual([])
})

test('a large body gets the capacity of stalled ones, which are answered 408', { timeout: LONG_MS }, async () => {
  const { url, errors, passTimeUntil } = await nearTheBound()
  const wires = await strangers(url, BODY_BYTES - 1)
  let answered: number | undefined
  void postUnsigned(url, largeText()).then((status) => (answered = status))
  await passTimeUntil(() => answered === 204 && errors.length > 0)
  expect(errors.length).toBeLessThan(MANY)
  for (const error of errors) {
    expect(error).toMatchObject({ code: 'body_too_slow', status: 408 })
    expect(error.message).toContain('maxInflightBytes')
  }
  const closed: string[] = []
  for (const wire of wires) void wire.closed.then((text) => closed.push(text))
  await expect.poll(() => closed.length, POLL).toBe(errors.length)
  for (const text of closed) expect(text).toMatch(/^HTTP\/1.1 408 [^]*connection: close/i)
})

test('a body that sends a byte now and then loses its capacity like a stalled one', { timeout: LONG_MS }, async () => {
  const { url, errors, clock, begun } = await nearTheBound()
  const wires = await strangers(url, BODY_BYTES - 1_000)
  await begun(MANY)
  let answered: number | undefined
  void postUnsigned(url, largeText()).then((status) => (answered = status))
  await expect
    .poll(async () => {
      for (const wire of wires) wire.write('x')
      await clock.advance(100)
      return answered === 204 && errors.length > 0
    }, POLL)
    .toBe(true)
})

test('accepts large bodies far beyond the limit, in whatever order they arrive', { timeout: LONG_MS }, async () => {
  const { url, errors, receiver } = await nearTheBound()
  const wires = await Promise.all(Array.from({ length: MANY }, () => connect(url)))
  const bodies = wires.map((_, index) => largeText(`m-${index}`))
  for (const [index, wire] of wires.entries()) {
    const length = index % 2 === 0 ? `Content-Length: ${BODY_BYTES}` : 'Transfer-Encoding: chunked'
    const body = bodies[index] ?? ''
    const sent = index % 2 === 0 ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    wire.write(head(length), sent.slice(0, 60_000))
    // The rest arrives when the limit was reached, from the last body first.
    bodies[index] = sent.slice(60_000)
  }
  for (const [index, wire] of [...wires.entries()].reverse()) {
    await new Promise((resolve) => setImmediate(resolve))
    wire.write(bodies[index] ?? '')
  }
  expect(await Promise.all(wires.map((wire) => wire.answers()))).toEqual(wires.map(() => [204]))
  expect(errors).toEqual([])
  expect(await receiver.stats()).toMatchObject({ accepted: MANY, duplicates: 0 })
})

test('the time that a body waits for capacity does not count', { timeout: LONG_MS }, async () => {
  const { url, clock, errors, begun, passTimeUntil } = await nearTheBound({ bodyTimeoutMs: 800 })
  await strangers(url, BODY_BYTES - 1)
  const wire = await connect(url)
  const body = largeText()
  wire.write(head(`Content-Length: ${BODY_BYTES}`), body.slice(0, 90_000))
  await begun(MANY + 1)
  // The unproved requests being read time out; the waiting request's own time must not have begun yet.
  await clock.advance(800)
  await expect.poll(() => errors.length, POLL).toBeGreaterThan(0)
  wire.write(body.slice(90_000))
  let statuses: readonly number[] = []
  void wire.answers().then((answers) => (statuses = answers))
  await passTimeUntil(() => statuses.length > 0)
  expect(statuses).toEqual([204])
})

test('with enough capacity, a slow body has its bodyTimeoutMs', async () => {
  const { url, clock, errors, begun } = await nearTheBound()
  const wires = await strangers(url, BODY_BYTES - 1, 8)
  await begun(8)
  await clock.advance(9_900)
  expect(errors).toEqual([])
  await clock.advance(200)
  expect(await Promise.all(wires.map((wire) => wire.answers()))).toEqual(wires.map(() => [408]))
  for (const { message } of errors) expect(message).not.toContain('maxInflightBytes).')
})

test('a client that leaves while it waits frees its capacity for others', { timeout: LONG_MS }, async () => {
  const { url, begun } = await nearTheBound()
  const wires = await strangers(url, BODY_BYTES - 1)
  const answer = postUnsigned(url, largeText())
  await begun(MANY + 1)
  for (const wire of wires) wire.socket.destroy()
  expect(await answer).toBe(204)
})

test('a body in pieces of one byte takes little more memory than its bytes', { timeout: LONG_MS }, async () => {
  const { url, server } = await receiving()
  const [count, bytes] = [10, 20_000]
  let received = 0
  server.prependListener('request', (request) => {
    request.on('data', (piece: Buffer) => (received += piece.length))
    request.pause()
  })
  const before = memoryBytes()
  const wires = await Promise.all(Array.from({ length: count }, () => connect(url)))
  for (const wire of wires) wire.write(head('Transfer-Encoding: chunked'), '1\r\nx\r\n'.repeat(bytes))
  await expect.poll(() => received, POLL).toBe(count * bytes)
  // A piece by itself takes some 200 bytes.
  expect(memoryBytes() - before).toBeLessThan(20 * count * bytes)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function memoryBytes(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
