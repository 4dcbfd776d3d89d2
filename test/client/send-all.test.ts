/** Long lists: every number is accounted for, with any outcome of its request. */
import type { NumberOutcome, SendTotals } from 'messaging-webhooks/client'
import { describe, expect, test } from 'vitest'
import { emulating } from '../emulator/emulating.ts'
import { ACCEPTED, answering, clientOf, onTheWire, UNSUPPORTED } from './answering.ts'

const numbers = (count: number): string[] => Array.from({ length: count }, (_, nth) => String(254_711_000_000 + nth))

const NONE = { accepted: 0, refused: 0, failed: 0, repeated: 0, unknown: 0, unsent: 0 }

/** Checks that there is one outcome for each number, in the order of the list, and that the totals match. */
function isWhole(to: readonly string[], outcomes: readonly NumberOutcome[], totals: SendTotals): void {
  expect(outcomes.map((each) => each.to)).toEqual(to)
  const counts: Record<string, number> = { ...NONE, total: to.length }
  for (const { outcome } of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  expect(totals).toEqual(counts)
}

/** The numbers with this outcome. */
function those(outcomes: readonly NumberOutcome[], end: NumberOutcome['outcome']): readonly string[] {
  return outcomes.filter(({ outcome }) => outcome === end).map(({ to }) => to)
}

test('sends a list in concurrent batches, with the outcomes in its order', async () => {
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
  const to = [...numbers(250), UNSUPPORTED]
  const { outcomes, totals, stoppedBy } = await client.sendAll(
    { to, message: 'Sale!', campaign: 'Spring' },
    { batch: 20, concurrency: 3 },
  )
  expect(most).toBe(3)
  expect(emulator.sends().map(({ recipients }) => recipients.length)).toEqual([...Array<number>(12).fill(20), 11])
  expect(totals).toEqual({ ...NONE, total: 251, accepted: 250, refused: 1 })
  isWhole(to, outcomes, totals)
  expect(stoppedBy).toBeUndefined()
  const [first] = outcomes
  expect(first).toMatchObject({
    outcome: 'accepted',
    recipients: [{ code: 11, messageId: expect.any(String) as string }],
  })
  expect(outcomes.at(-1)).toMatchObject({ to: UNSUPPORTED, outcome: 'refused', recipients: [{ code: 12 }] })
})

describe('iterated', () => {
  test('yields each outcome once, and the totals always add up', async () => {
    const { endpoint } = await emulating()
    const to = numbers(95)
    const sending = clientOf(endpoint).sendAll({ to, message: 'Sale!' }, { batch: 10, concurrency: 3 })
    const seen: NumberOutcome[] = []
    for await (const outcome of sending) {
      seen.push(outcome)
      const { total, ...ends } = sending.totals
      expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(total)
    }
    expect(seen.map((each) => each.to).toSorted()).toEqual(to)
    expect(sending.totals).toEqual({ ...NONE, total: 95, accepted: 95 })
    expect(sending.stoppedBy).toBeUndefined()
  })

  test('sends nothing before the loop, no more than it consumes, and nothing after it ends', async () => {
    const { endpoint, emulator } = await emulating()
    const sending = clientOf(endpoint).sendAll({ to: numbers(100), message: 'x' }, { batch: 10, concurrency: 2 })
    expect(emulator.sends()).toEqual([])
    for await (const { outcome } of sending) {
      expect(outcome).toBe('accepted')
      if (sending.totals.accepted >= 30) break
    }
    const made = emulator.sends().flatMap(({ recipients }) => recipients)
    expect(made.length).toBeLessThanOrEqual(50)
    // The outcomes of the requests in flight are known.
    expect(sending.totals).toMatchObject({ accepted: made.length, unsent: 100 - made.length })
  })
})

test('failed requests do not stop the others, and nothing is sent twice', async () => {
  const { endpoint, emulator } = await emulating(
    {},
    { sendFaults: { noAnswer: 0.2, badGateway: 0.2, lostRequest: 0.2 } },
  )
  const to = numbers(300)
  const { outcomes, totals } = await clientOf(endpoint).sendAll({ to, message: 'Sale!' }, { batch: 5, concurrency: 6 })
  isWhole(to, outcomes, totals)
  expect(totals).toMatchObject({ failed: 0, unsent: 0, refused: 0 })
  expect(totals.unknown).toBeGreaterThan(25)
  for (const { outcome, error } of outcomes) expect(error?.mayBeSent).toBe(outcome === 'unknown' ? true : undefined)
  const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
  expect(new Set(made).size).toBe(made.length)
  const lost = emulator.report().sends.faults.lostRequest ?? 0
  expect(made.length).toBe(300 - lost * 5)
})

test('an aborted list stops between requests, and reports what was sent', async () => {
  const { endpoint, emulator } = await emulating()
  const stopping = new AbortController()
  const to = numbers(100)
  const sending = clientOf(endpoint).sendAll(
    { to, message: 'Sale!' },
    { batch: 10, concurrency: 2, signal: stopping.signal },
  )
  const outcomes: NumberOutcome[] = []
  for await (const outcome of sending) {
    outcomes.push(outcome)
    if (outcomes.length === 21) stopping.abort()
  }
  expect(sending.stoppedBy).toMatchObject({ code: 'aborted', mayBeSent: false })
  expect(outcomes.map((each) => each.to).toSorted()).toEqual(to)
  const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
  expect(those(outcomes, 'accepted').toSorted()).toEqual(made.toSorted())
  expect(sending.totals).toMatchObject({ accepted: made.length, unsent: 100 - made.length, unknown: 0, failed: 0 })
  expect(sending.totals.unsent).toBeGreaterThanOrEqual(50)
})

test.each([
  [
    'the balance',
    { status: 400, body: { messageData: { message: 'Error. Insufficient balance. Top up and try again.' } } },
    'insufficient_balance',
  ],
  ['the key', { status: 401, body: { message: 'Unauthenticated.' } }, 'unauthenticated'],
] as const)('an error that every later request would meet stops the list: %s', async (_, refusal, code) => {
  let nth = 0
  const to = numbers(10)
  const { url, received } = await answering(({ body }) => {
    const recipients = [{ ...ACCEPTED.recipients[0], to: (JSON.parse(body) as { to: string }).to }]
    return (nth += 1) > 2 ? refusal : { body: { ...ACCEPTED, recipients } }
  })
  const all = await clientOf(url).sendAll({ to, message: 'Sale!' }, { batch: 1, concurrency: 1 })
  expect(received).toHaveLength(3)
  expect(all.stoppedBy?.code).toBe(code)
  isWhole(to, all.outcomes, all.totals)
  expect(all.totals).toEqual({ ...NONE, total: 10, accepted: 2, failed: 1, unsent: 7 })
  expect(all.outcomes[2]).toMatchObject({ outcome: 'failed', error: { code } })
})

describe('totals count numbers, not entries of the answer', () => {
  const [one = '', two = '', three = ''] = numbers(3)
  const entry = (messageId: string, to: string, statusCode = '11', messagePart = 1) => {
    return { messageId, to, status: 'accepted', statusCode, messagePart, type: 'bulk' }
  }

  test.each<readonly [what: string, recipients: readonly object[], outcomes: readonly string[]]>([
    ['parts with ids of their own', [entry('a', one), entry('b', one, '11', 2)], ['accepted', 'unknown', 'unknown']],
    [
      'one twice and another not',
      [entry('a', one), entry('b', one), entry('c', two)],
      ['accepted', 'accepted', 'unknown'],
    ],
    ['with a plus', [`+${one}`, two, three].map((to) => entry(to, to)), ['accepted', 'accepted', 'accepted']],
    ['by none of them', [entry('a', '254799999999')], ['unknown', 'unknown', 'unknown']],
    ['an unknown code', [entry('a', one, '77'), entry('b', two, '12')], ['unknown', 'refused', 'unknown']],
  ])('%s', async (_, recipients, outcomes) => {
    const to = [one, two, three]
    const { url } = await answering(() => ({ body: { messageData: { messages: 3 }, recipients } }))
    const all = await clientOf(url).sendAll({ to, message: 'Sale!' })
    isWhole(to, all.outcomes, all.totals)
    expect(all.outcomes.map(({ outcome }) => outcome)).toEqual(outcomes)
  })
})

test('sends once to a number that is twice in the list', async () => {
  const { endpoint, emulator } = await emulating()
  const [one = '', two = ''] = numbers(2)
  const to = [one, two, `+${one}`, one]
  const all = await clientOf(endpoint).sendAll({ to, message: 'x' }, { batch: 3 })
  isWhole(to, all.outcomes, all.totals)
  expect(all.outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'repeated', 'repeated'])
  expect(emulator.sends().flatMap(({ recipients }) => recipients)).toHaveLength(2)
})

test('a key that no header can carry loses no recipient', async () => {
  const { seen, url } = await onTheWire((socket) => socket.end())
  const none = await clientOf(url, { apiKey: () => 'key\n' }).sendAll({ to: numbers(3), message: 'x' }, { batch: 3 })
  expect(none).toMatchObject({ stoppedBy: { code: 'not_sent' }, totals: { failed: 3 } })
  expect(seen.connections).toBe(0)
})
