/** Sends without an answer: the client retries only those that cannot have reached the service. */
import { describe, expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { THROWN } from '../support/hostile.ts'
import { logging } from '../support/logging.ts'
import { freePort } from '../support/free-port.ts'
import { ACCEPTED, clientOf, DELIVERED, failing, onTheWire, PATH } from './answering.ts'

const HELLO = { to: [DELIVERED, '999200000000'], message: 'Hello' }
const WHOLE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${JSON.stringify(ACCEPTED).length}\r\n\r\n${JSON.stringify(ACCEPTED)}`

describe('not sent', () => {
  test('retries a refused connection up to the limit', async () => {
    const { logger, lines } = logging()
    const url = `http://127.0.0.1:${await freePort()}${PATH}`
    const client = clientOf(url, { logger, retry: { attempts: 4, initialDelayMs: 0 } })
    const error = await failing(client.send(HELLO))
    expect(error).toMatchObject({
      code: 'not_sent',
      reason: 'ECONNREFUSED',
      mayBeSent: false,
      attempts: 4,
      recipients: 2,
    })
    expect(lines.map(({ fields }) => fields)).toEqual(
      [1, 2, 3].map((attempt) => ({ code: 'send_retried', reason: 'ECONNREFUSED', attempt, delayMs: 0 })),
    )
  })

  test('delays double up to the maximum, with jitter', async () => {
    const clock = fakeClock()
    const { logger, lines } = logging()
    const refused = async () => {
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      })
    }
    const retry = { attempts: 6, initialDelayMs: 100, maxDelayMs: 400 }
    const sending = failing(
      clientOf(`http://service.invalid${PATH}`, { fetch: refused, clock, logger, retry }).send(HELLO),
    )
    await letTimePass(clock, sending)
    expect(await sending).toMatchObject({ attempts: 6 })
    const most = [100, 200, 400, 400, 400]
    for (const [index, { fields }] of lines.entries()) {
      expect(fields['delayMs']).toBeGreaterThanOrEqual(0)
      expect(fields['delayMs']).toBeLessThanOrEqual(most[index] ?? 0)
    }
    expect(lines).toHaveLength(5)
  })

  test('retries when all of several addresses refuse; not when one may have been reached', async () => {
    const tried = (...codes: readonly string[]) => ({
      retry: { attempts: 1 },
      fetch: async () => {
        const errors = codes.map((code) => Object.assign(new Error(), { code, syscall: 'connect' }))
        throw new TypeError('fetch failed', { cause: Object.assign(new AggregateError(errors), { code: codes[0] }) })
      },
    })
    const url = `http://service.invalid${PATH}`
    const refused = clientOf(url, tried('ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH'))
    expect(await failing(refused.send(HELLO))).toMatchObject({ code: 'not_sent' })
    const read = Object.assign(new Error(), { code: 'ETIMEDOUT', syscall: 'read' })
    const broken = clientOf(url, { fetch: () => Promise.reject(new TypeError('fetch failed', { cause: read })) })
    expect(await failing(broken.send(HELLO))).toMatchObject({ code: 'unknown_outcome', reason: 'ETIMEDOUT' })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('The vault is closed.')
      },
    ],
    ['returns nothing', () => ''],
    ['never returns', () => new Promise<string>(() => {})],
  ])('a function of the key that %s', async (_, apiKey) => {
    const { seen, url } = await onTheWire((socket) => socket.end(WHOLE))
    const error = await failing(clientOf(url, { apiKey, timeoutMs: 20 }).send(HELLO))
    expect(error).toMatchObject({ code: 'not_sent', mayBeSent: false, attempts: 0 })
    expect(seen.connections).toBe(0)
  })
})

describe('unknown, and never retried', () => {
  test.each([
    [
      'a reset before a byte was read',
      (socket: Wire) => void socket.once('readable', () => socket.resetAndDestroy()),
      false,
      undefined,
    ],
    ['a reset after the whole request', (socket: Wire) => void socket.resetAndDestroy(), true, undefined],
    ['an end without an answer', (socket: Wire) => void socket.end(), true, undefined],
    ['a reply that is not HTTP', (socket: Wire) => void socket.end('hello\r\n\r\n'), true, undefined],
    ['half a head', (socket: Wire) => void socket.end('HTTP/1.1 200'), true, undefined],
    ['half a body', (socket: Wire) => void socket.end(WHOLE.slice(0, -20)), true, 200],
    ['half a body, then a reset', halfThenReset, true, 200],
  ])('%s', async (_, act, whole, status) => {
    const { seen, url } = await onTheWire(act, whole)
    const error = await failing(clientOf(url).send(HELLO))
    expect(error).toMatchObject({ code: 'unknown_outcome', mayBeSent: true, attempts: 1, recipients: 2, status })
    expect(error.sentAt).toBeInstanceOf(Date)
    expect(error.reason).toMatch(/^\w+$/)
    expect(seen.connections).toBe(1)
  })

  test.each([
    ['no answer in time', () => {}],
    ['a head and no body', (socket: Wire) => void socket.write(WHOLE.slice(0, 70))],
    ['a body that trickles', (socket: Wire) => void socket.write(WHOLE.slice(0, -5))],
  ])('%s', async (_, act) => {
    const clock = fakeClock()
    const { seen, url } = await onTheWire((socket) => {
      act(socket)
      void clock.advance(10_000)
    })
    const error = await failing(clientOf(url, { clock }).send(HELLO))
    expect(error).toMatchObject({ code: 'unknown_outcome', reason: 'timeout', mayBeSent: true })
    expect(seen.requests).toBe(1)
  })

  test('does not wait for a `fetch` that ignores its signal', async () => {
    const client = clientOf(`http://service.invalid${PATH}`, { fetch: () => new Promise(() => {}), timeoutMs: 20 })
    expect(await failing(client.send(HELLO))).toMatchObject({ code: 'unknown_outcome', reason: 'timeout' })
  })

  test.each(THROWN)('a `fetch` that throws %s', async (_, thrown) => {
    const fetch = () => {
      throw thrown()
    }
    expect(await failing(clientOf(`http://service.invalid${PATH}`, { fetch }).send(HELLO))).toMatchObject({
      code: 'unknown_outcome',
    })
  })
})

describe('aborted', () => {
  test('before it starts, or in the turn of the call: nothing is sent', async () => {
    const { seen, url } = await onTheWire((socket) => socket.end(WHOLE))
    const stopping = new AbortController()
    const sending = clientOf(url).send(HELLO, { signal: stopping.signal })
    stopping.abort()
    for (const each of [sending, clientOf(url).send(HELLO, { signal: AbortSignal.abort() })])
      expect(await failing(each)).toMatchObject({ code: 'aborted', mayBeSent: false, attempts: 0 })
    expect(seen.connections).toBe(0)
  })

  test('while the key is read: nothing is sent, and it stops waiting', async () => {
    const { seen, url } = await onTheWire((socket) => socket.end(WHOLE))
    for (const answer of [() => 'key', () => new Promise<string>(() => {})]) {
      const stopping = new AbortController()
      const apiKey = () => {
        stopping.abort()
        return answer()
      }
      const error = await failing(clientOf(url, { apiKey }).send(HELLO, { signal: stopping.signal }))
      expect(error).toMatchObject({ code: 'aborted', mayBeSent: false, attempts: 0 })
    }
    expect(seen.connections).toBe(0)
  })

  test('in flight: it may have been sent', async () => {
    const stopping = new AbortController()
    const { url } = await onTheWire(() => stopping.abort())
    const error = await failing(clientOf(url).send(HELLO, { signal: stopping.signal }))
    expect(error).toMatchObject({ code: 'aborted', mayBeSent: true, attempts: 1 })
  })

  test('between attempts: nothing was sent, and it stops waiting', async () => {
    const stopping = new AbortController()
    const logger = { debug() {}, info() {}, error() {}, warn: () => stopping.abort() }
    const url = `http://127.0.0.1:${await freePort()}${PATH}`
    const client = clientOf(url, { logger, retry: { initialDelayMs: 1e9, maxDelayMs: 1e9 } })
    const error = await failing(client.send(HELLO, { signal: stopping.signal }))
    expect(error).toMatchObject({ code: 'aborted', mayBeSent: false, attempts: 1 })
  })
})

type Wire = Parameters<Parameters<typeof onTheWire>[0]>[0]

function halfThenReset(socket: Wire): void {
  // The client requests more only after it has read everything before the reset.
  socket.write(WHOLE.slice(0, -20), () => setTimeout(() => socket.resetAndDestroy(), 50))
}
