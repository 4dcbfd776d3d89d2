/** Long lists: every number is accounted for, whatever its batch met. */
import type { SendCounts, SendProgress } from 'messaging-webhooks/client'
import { expect, test } from 'vitest'
import { emulating } from '../emulator/emulating.ts'
import { ACCEPTED, answering, clientOf, onTheWire, UNSUPPORTED } from './answering.ts'
import { freePort } from '../support/free-port.ts'
import { unheard, untilHeard } from '../support/hostile.ts'

const numbers = (count: number): string[] => Array.from({ length: count }, (_, nth) => String(254_711_000_000 + nth))

function sumOf({ accepted, refused, failed, unknown, unsent }: SendCounts): number {
  return accepted + refused + failed + unknown + unsent
}

test('a list goes out in batches, so many at once, and the answers are in its order', async () => {
  const { endpoint, emulator } = await emulating()
  let most = 0
  let underWay = 0
  const client = clientOf(endpoint, {
    async fetch(url, init) {
      underWay += 1
      most = Math.max(most, underWay)
      return fetch(url, init).finally(() => (underWay -= 1))
    },
  })
  const told: SendProgress[] = []
  const to = [...numbers(250), UNSUPPORTED]
  const all = await client.sendAll(
    { to, message: 'Sale!', campaign: 'Spring' },
    { batch: 20, concurrency: 3, onProgress: (progress) => void told.push(progress) },
  )
  expect(most).toBe(3)
  expect(emulator.sends().map(({ recipients }) => recipients.length)).toEqual([...Array<number>(12).fill(20), 11])
  expect(all.counts).toEqual({ total: 251, accepted: 250, refused: 1, failed: 0, repeated: 0, unknown: 0, unsent: 0 })
  expect(all).toMatchObject({ failed: [], unsent: [], stoppedBy: undefined })
  expect(all.sent.flatMap(({ recipients }) => recipients.map((each) => each.to))).toEqual(to)
  expect(all.sent.map(({ kind, campaign }) => `${kind} ${campaign ?? ''}`)).toEqual([
    ...Array<string>(12).fill('accepted Spring'),
    'partial Spring',
  ])
  expect(told.map(({ batches }) => batches)).toEqual(Array.from({ length: 13 }, (_, index) => index + 1))
  for (const each of told) expect(sumOf(each)).toBe(251)
})

test('batches that fail do not stop the others, and nothing is sent twice', async () => {
  const { endpoint, emulator } = await emulating(
    {},
    { sendFaults: { noAnswer: 0.2, badGateway: 0.2, lostRequest: 0.2 } },
  )
  const to = numbers(300)
  const all = await clientOf(endpoint).sendAll({ to, message: 'Sale!' }, { batch: 5, concurrency: 6 })
  expect(sumOf(all.counts)).toBe(300)
  expect(all.counts).toMatchObject({ total: 300, failed: 0, unsent: 0, refused: 0 })
  expect(all.failed.length).toBeGreaterThan(5)
  expect(all.counts.unknown).toBe(all.failed.flatMap((batch) => batch.to).length)
  const known = [...all.sent.flatMap(({ messages }) => messages), ...all.failed.flatMap((batch) => batch.to)]
  expect(known).toHaveLength(300)
  const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
  expect(new Set(made).size).toBe(made.length)
  const lost = emulator.report().sends.faults.lostRequest ?? 0
  expect(made.length).toBe(300 - lost * 5)
})

test('an aborted list stops between batches, and says what was sent', async () => {
  const { endpoint, emulator } = await emulating()
  const stopping = new AbortController()
  const to = numbers(100)
  const all = await clientOf(endpoint).sendAll(
    { to, message: 'Sale!' },
    {
      batch: 10,
      concurrency: 2,
      signal: stopping.signal,
      onProgress: ({ batches }) => batches === 3 && stopping.abort(),
    },
  )
  expect(all.stoppedBy).toMatchObject({ code: 'aborted', mayBeSent: false })
  expect(all.failed).toEqual([])
  const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
  expect(all.sent.flatMap(({ messages }) => messages.map((each) => each.to)).sort()).toEqual(made.sort())
  expect([...made, ...all.unsent].sort()).toEqual(to)
  expect(all.counts).toMatchObject({ unknown: 0, unsent: all.unsent.length })
  expect(all.unsent.length).toBeGreaterThanOrEqual(60)
})

test.each([
  [
    'the balance',
    { status: 400, body: { messageData: { message: 'Error. Insufficient balance. Top up and try again.' } } },
    'insufficient_balance',
  ],
  ['the key', { status: 401, body: { message: 'Unauthenticated.' } }, 'unauthenticated'],
] as const)('what every later batch would meet stops the list: %s', async (_, refusal, code) => {
  let nth = 0
  const { url, received } = await answering(() => ((nth += 1) > 2 ? refusal : { body: ACCEPTED }))
  const all = await clientOf(url).sendAll({ to: numbers(10), message: 'Sale!' }, { batch: 1, concurrency: 1 })
  expect(received).toHaveLength(3)
  expect(all.stoppedBy?.code).toBe(code)
  expect(all.failed.map(({ to }) => to)).toEqual([['254711000002']])
  expect(all.unsent).toEqual(numbers(10).slice(3))
  expect(all.counts).toEqual({ total: 10, accepted: 2, refused: 0, failed: 1, repeated: 0, unknown: 0, unsent: 7 })
})

test('a balance that comes to its end stops the list, and every number is accounted for', async () => {
  const { endpoint, emulator } = await emulating({ balance: 25 })
  const all = await clientOf(endpoint).sendAll({ to: numbers(100), message: 'x' }, { batch: 10, concurrency: 1 })
  expect(all.stoppedBy).toMatchObject({ code: 'insufficient_balance', mayBeSent: false, recipients: 10 })
  // The third batch has some of both, the fourth none that was accepted.
  expect(all.counts).toEqual({ total: 100, accepted: 25, refused: 15, failed: 0, repeated: 0, unknown: 0, unsent: 60 })
  expect(emulator.sends()).toHaveLength(4)
})

test('a service that cannot be reached stops the list', async () => {
  const all = await clientOf(`http://127.0.0.1:${await freePort()}/`).sendAll(
    { to: numbers(30), message: 'x' },
    { batch: 10, concurrency: 1 },
  )
  expect(all).toMatchObject({ sent: [], stoppedBy: { code: 'not_sent' }, counts: { failed: 10, unsent: 20 } })
})

test('numbers that the answer does not name are unknown', async () => {
  const { url } = await answering(() => ({ body: ACCEPTED }))
  const all = await clientOf(url).sendAll({ to: numbers(4), message: 'Sale!' })
  expect(all.counts).toEqual({ total: 4, accepted: 1, refused: 0, failed: 0, repeated: 0, unknown: 3, unsent: 0 })
})

test('a listener that throws, and a key that no header can carry, lose nothing', async () => {
  const { endpoint } = await emulating()
  const onProgress = () => {
    throw new Error('Mine.')
  }
  const reasons = unheard()
  for (const listener of [onProgress, async () => Promise.reject(new Error('Mine, later.'))]) {
    const progress = { batch: 1, onProgress: listener as () => void }
    const all = await clientOf(endpoint).sendAll({ to: numbers(3), message: 'x' }, progress)
    expect(all.counts.accepted).toBe(3)
  }
  await untilHeard()
  expect(reasons).toEqual([])
  const { seen, url } = await onTheWire((socket) => socket.end())
  const none = await clientOf(url, { apiKey: () => 'key\n' }).sendAll({ to: numbers(3), message: 'x' }, { batch: 3 })
  expect(none).toMatchObject({ stoppedBy: { code: 'not_sent' }, counts: { failed: 3 } })
  expect(seen.connections).toBe(0)
})
