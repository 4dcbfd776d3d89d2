/** Many requests on one connection leave nothing behind. */
import http from 'node:http'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../support/hazard.ts'
import { AUTH_KEY } from '../support/receiving.ts'
import { connect, head, keyedText, reportText, signatureOf } from '../support/wire.ts'

const ROUNDS = 200

/** Good and bad requests whose bodies are read to the end, so that the connection stays open. */
const REQUESTS: readonly (readonly [
  what: string,
  status: number,
  body: () => string,
  headers: () => Record<string, string>,
])[] = [
  ['signed', 204, () => reportText(), () => ({ 'x-service-signature': signatureOf(reportText()) })],
  ['by its authKey', 204, () => keyedText(), () => ({})],
  ['forged', 401, () => reportText(), () => ({})],
  ['malformed', 401, () => reportText({ authKey: [AUTH_KEY] }), () => ({ 'x-service-signature': 'potato' })],
  ['compressed', 415, () => '\u001F\u008B\b', () => ({ 'content-encoding': 'gzip' })],
  ['empty', 401, () => '', () => ({})],
  ['in chunks', 204, () => keyedText(), () => ({ 'transfer-encoding': 'chunked' })],
]

test.each(REQUESTS)(
  '200 requests on one connection, %s, leave no listener behind',
  async (_, status, body, headers) => {
    const { url, server } = await serve()
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const connected = new Promise<Socket>((resolve) => server.once('connection', resolve))
    expect(await postWith(agent, url, body(), headers())).toBe(status)
    const socket = await connected
    const before = listenersOf(socket)
    for (let round = 0; round < ROUNDS; round += 1) expect(await postWith(agent, url, body(), headers())).toBe(status)
    expect(listenersOf(socket)).toEqual(before)
    expect(await connections(server)).toBe(1)
  },
)

test('no request causes a warning about too many listeners', async () => {
  const warnings: Error[] = []
  const add = (warning: Error): void => void warnings.push(warning)
  process.on('warning', add)
  onTestFinished(() => void process.off('warning', add))
  const { url } = await serve()
  const wire = await connect(url)
  const body = keyedText()
  const many = 50
  wire.write((head(`Content-Length: ${body.length}`) + body).repeat(many))
  expect(await wire.answers(many)).toEqual(Array.from({ length: many }, () => 204))
  expect(warnings).toEqual([])
})

test('abandoned bodies do not count as being read', async () => {
  const { url, errors, dispatched, receiver } = await serve({ maxInflightBytes: 1_000, bodyTimeoutMs: 200 })
  const half = 'x'.repeat(900)
  const wires = await Promise.all(Array.from({ length: 5 }, () => connect(url)))
  for (const wire of wires) wire.write(head('Content-Length: 2000'), half)
  expect(await Promise.all(wires.map((wire) => wire.answers()))).toEqual(wires.map(() => [408]))
  expect(errors.map(({ code }) => code)).toEqual(wires.map(() => 'body_too_slow'))
  const agent = new http.Agent()
  const statuses = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      postWith(agent, url, keyedText({ messageId: `m-${index}`, filler: half }), {}),
    ),
  )
  expect(new Set(statuses)).toEqual(new Set([204]))
  await receiver.drain()
  expect(dispatched).toHaveLength(20)
})

function listenersOf(socket: Socket): Record<string, number> {
  return Object.fromEntries(socket.eventNames().map((name) => [String(name), socket.listenerCount(name)]))
}

function connections(server: http.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

function postWith(agent: http.Agent, url: string, body: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = http.request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
