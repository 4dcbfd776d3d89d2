/** A clock that jumps between any two readings, or a wrong one: it decides about signatures, and nothing is lost. */
import { callback } from 'messaging-webhooks/testing'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import fc from 'fast-check'
import type { MessageStore } from 'messaging-webhooks/store'
import { expect, onTestFinished, test, vi } from 'vitest'
import { pruneStep } from '../../src/inbox/pruning.ts'
import { onEachStore } from '../support/each-store.ts'
import { unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'
import { request } from '../support/wire.ts'
import { ownFile } from '../support/own-folder.ts'
import { storeAround } from '../support/store-around.ts'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
/** Set higher for a longer run. */
const RUNS = Number(process.env['RUNS'] ?? 3)
const POLL = { timeout: 30_000 }

/** What a reading returns, given the right time. */
type Reading = readonly [what: string, read: (nowMs: number) => number]

const RIGHT: Reading = ['right', (nowMs) => nowMs]
const READINGS: readonly Reading[] = [
  ['an hour back', (nowMs) => nowMs - HOUR_MS],
  ['an hour ahead', (nowMs) => nowMs + HOUR_MS],
  ['a year ahead', (nowMs) => nowMs + YEAR_MS],
  ['a fraction', (nowMs) => nowMs + 0.5],
  ['1970', () => 0],
]

/** While a clock leaps by a year every few readings, no lease appears to last, and work waits for the lease to end. */
const MAD_READINGS = 400

/** Returns the readings one after another, cyclically; the right time once the clock is correct again. */
function reading(readings: readonly Reading[]): () => number {
  let reads = 0
  return () => {
    const [, read] = (reads < MAD_READINGS ? readings[reads % readings.length] : undefined) ?? RIGHT
    reads += 1
    return read(Date.now())
  }
}

const chatApp = (messageId: string, status: string): string =>
  JSON.stringify({ ...callback.chatApp({ statuses: { message_id: messageId, status } }), authKey: AUTH_KEY })

const STATUSES = ['delivered', 'sent', 'read']

test.each(onEachStore)(
  'a clock jumps between any two readings, with %s: all is dispatched',
  { timeout: 300_000 },
  async (_name, makeStore) => {
    const property = fc.asyncProperty(
      fc.array(
        fc.oneof({ weight: 4, arbitrary: fc.constant(RIGHT) }, { weight: 3, arbitrary: fc.constantFrom(...READINGS) }),
        {
          minLength: 1,
          maxLength: 40,
        },
      ),
      async (readings) => {
        const unhandled = unhandledRejections()
        const { receiver, url } = await receiving({
          clock: reading(readings),
          store: makeStore(),
          ordering: { gapTimeoutMs: 50 },
          retry: { attempts: 5, initialDelayMs: 20, maxDelayMs: 20 },
        })
        const given = new Set<string>()
        receiver.onAny((event, { attempt }) => {
          if (attempt === 1) throw new Error('again')
          given.add(event.raw.toString())
        })
        const sent = ['a', 'b', 'c'].flatMap((messageId) => STATUSES.map((status) => chatApp(messageId, status)))
        for (const body of sent) expect((await request(url, { body })).status).toBe(204)
        await expect.poll(() => given.size, POLL).toBe(sent.length)
        await expect.poll(async () => (await receiver.stats()).unsettled, POLL).toBe(0)
        expect(await receiver.stats()).toMatchObject({ accepted: sent.length, duplicates: 0, deadLetters: 0 })
        await receiver.close({ deadlineMs: 200 })
        await untilRejectionsReported()
        expect(unhandled).toEqual([])
      },
    )
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
  },
)

test('a clock that returns no number makes no old signature valid', async () => {
  const { url } = await receiving({ clock: () => Number.NaN })
  const timestamp = Math.floor(Date.now() / 1_000) - 3_600
  expect((await post(url, callback.smsDelivery(), { timestamp })).status).toBe(401)
})

test('a clock that is a year ahead when a callback arrives does not extend its reorder wait by a year', async () => {
  let isAhead = false
  const clock = (): number => {
    const nowMs = Date.now() + (isAhead ? YEAR_MS : 0)
    isAhead = false
    return nowMs
  }
  const { receiver, url } = await receiving({ clock, ordering: { gapTimeoutMs: 50 } })
  const given: string[] = []
  receiver.onAny((event) => void given.push(event.type))
  await receiver.start()
  isAhead = true
  expect((await request(url, { body: chatApp('m', 'read') })).status).toBe(204)
  expect(isAhead).toBe(false)
  await expect.poll(() => given, { timeout: 30_000 }).toEqual(['message.read'])
})

test('a clock that was ahead when a project was still unknown does not keep it unknown', async () => {
  let aheadMs = HOUR_MS
  let known = false
  const { url } = await receiving({
    clock: () => Date.now() + aheadMs,
    credentials: () => (known ? { authKey: AUTH_KEY } : undefined),
  })
  const send = async (): Promise<number> => (await request(url, { body: chatApp('m', 'sent') })).status
  expect(await send()).toBe(401)
  known = true
  aheadMs = 0
  await expect.poll(send, { timeout: 30_000 }).toBe(204)
})

test('a clock that jumps a year ahead erases nothing, also when it was set back an hour ago', async () => {
  const [machineNow, elapsed] = [Date.now.bind(Date), performance.now.bind(performance)]
  let [aheadMs, passedMs] = [0, 0]
  const spies = [
    vi.spyOn(Date, 'now').mockImplementation(() => machineNow() + passedMs + aheadMs),
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed() + passedMs),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  const opened: MessageStore[] = []
  const store = storeAround(
    sqliteStore({ path: ownFile(), retentionDays: 1, dedupeDays: 1, deadLetterDays: 1 }),
    {},
    (open) => {
      opened.push(open)
      return {}
    },
  )
  const { receiver, url } = await receiving({ store, retry: { attempts: 1 } })
  receiver.on('message.failed', () => Promise.reject(new Error('dead')))
  const [dead, done] = [callback.smsDelivery({ status: 'failed' }), callback.smsDelivery()]
  for (const body of [dead, done]) expect((await post(url, body)).status).toBe(204)
  await expect.poll(() => receiver.stats(), POLL).toMatchObject({ deadLetters: 1, unsettled: 0 })

  const [open] = opened
  if (open === undefined) throw new Error('The store is not open.')
  expect(await pruneStep(open)).toBe(0)
  aheadMs = YEAR_MS
  for (let looks = 0; looks < 3; looks += 1) expect(await pruneStep(open)).toBe(0)
  aheadMs = 0
  for (let looks = 0; looks < 3; looks += 1) {
    expect(await pruneStep(open)).toBe(0)
    passedMs += HOUR_MS
  }
  expect((await receiver.deadLetters.list()).items).toHaveLength(1)
  expect((await post(url, done)).status).toBe(204)
  expect(await receiver.stats()).toMatchObject({ deadLetters: 1, duplicates: 1 })
})

test.each(onEachStore)(
  'a clock that jumps a year ahead for a minute makes no message overdue, with %s',
  async (_name, makeStore) => {
    const machineNow = Date.now.bind(Date)
    let aheadMs = 0
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => machineNow() + aheadMs)
    onTestFinished(() => spy.mockRestore())
    const opened: MessageStore[] = []
    const store = storeAround(makeStore(), {}, (open) => {
      opened.push(open)
      return {}
    })
    const { receiver } = await receiving({ store })
    await receiver.start()
    await receiver.sends.expect({ messages: [{ messageId: 'm' }] })
    const [open] = opened
    if (open === undefined) throw new Error('The store is not open.')
    const nextInMs = async (): Promise<number> => {
      const due = await open.due({ of: 'sends', limit: 10 })
      expect(due.keys).toEqual([])
      return due.nextInMs ?? 0
    }
    expect(await nextInMs()).toBeGreaterThan(23 * HOUR_MS)
    aheadMs = YEAR_MS
    expect(await nextInMs()).toBeGreaterThan(23 * HOUR_MS)
    aheadMs = 0
    expect(await nextInMs()).toBeGreaterThan(23 * HOUR_MS)
  },
)
