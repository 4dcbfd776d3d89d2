/** Metrics as a scraper reads them, and the counts of `stats()`, from real callbacks and a real store that fails. */
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { createHistogram } from '../../src/operations/meter.ts'
import { exposed, METRICS } from '../../src/operations/metrics.ts'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'
import { lastingStore } from '../support/stores.ts'
import { readPage, tableOf } from '../../docs/markdown.ts'
import { ownFolder } from '../support/own-folder.ts'

const LINE = /^([a-z_]+?)(?:_bucket|_sum|_count)?(\{[a-z]+="[\w.+]*"(?:,[a-z]+="[\w.+-]*")*\})? (?:[\d.e+-]+|\+Inf)$/

/** The samples by their name and labels. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

/** The non-zero samples with this prefix. */
function nonZero(text: string, name: string): Readonly<Record<string, number>> {
  return Object.fromEntries([...samplesOf(text)].filter(([key, value]) => key.startsWith(name) && value !== 0))
}

test('each line has the right format, and each metric of the table has its help and type', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  await receiver.metrics()
  await post(url, callback.smsDelivery())
  await receiver.drain()
  const text = await receiver.metrics()
  expect(text.endsWith('\n')).toBe(true)
  const lines = text.split('\n').slice(0, -1)
  const comments = lines.filter((line) => line.startsWith('#'))
  expect(comments).toEqual(
    Object.entries(METRICS).flatMap(([name, [type, , help]]) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]),
  )
  let current = ''
  for (const line of lines)
    if (line.startsWith('# TYPE')) current = line.split(' ')[2] ?? ''
    else if (!line.startsWith('#')) {
      expect(line).toMatch(LINE)
      // All samples of a metric are adjacent.
      expect(line.startsWith(current)).toBe(true)
    }
  expect(new Set(samplesOf(text).keys()).size).toBe(lines.length - comments.length)
})

test('help and labels are escaped, and the buckets of a histogram add up', () => {
  expect(exposed('a', 'gauge', 'one\\two\nthree "four"', [{ labels: { b: 'c"d\\e\nf' }, value: 1.5 }])).toBe(
    '# HELP a one\\\\two\\nthree "four"\n# TYPE a gauge\na{b="c\\"d\\\\e\\nf"} 1.5\n',
  )
  const histogram = createHistogram([1, 2])
  for (const value of [0.5, 1, 1.5, 3]) histogram.observe(value)
  expect(
    exposed('h', 'histogram', '', [{ value: histogram }])
      .split('\n')
      .slice(2),
  ).toEqual(['h_bucket{le="1"} 2', 'h_bucket{le="2"} 3', 'h_bucket{le="+Inf"} 4', 'h_sum 6', 'h_count 4', ''])
})

test('callbacks by outcome, events by type and carrier, requests in quarantine', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  expect(
    samplesOf(await receiver.metrics()).get('messaging_webhooks_callbacks_total{kind="status",outcome="new",code=""}'),
  ).toBe(0)
  const first = callback.smsDelivery()
  await post(url, first)
  await post(url, first)
  await post(url, callback.smsDelivery({ network: 'carrier-b', status: 'failed' }))
  await post(url, JSON.stringify({ ...first, authKey: 'wrong' }), { headers: { 'x-service-signature': 'wrong' } })
  await post(url, { anything: 'at all"\n' })
  await receiver.drain()
  const text = await receiver.metrics()
  expect(nonZero(text, 'messaging_webhooks_callbacks_total')).toEqual({
    'messaging_webhooks_callbacks_total{kind="status",outcome="new",code=""}': 3,
    'messaging_webhooks_callbacks_total{kind="status",outcome="duplicate",code=""}': 1,
    'messaging_webhooks_callbacks_total{kind="status",outcome="refused",code="signature_malformed"}': 1,
  })
  expect(nonZero(text, 'messaging_webhooks_events_total')).toEqual({
    'messaging_webhooks_events_total{type="message.delivered",carrier="carrierA"}': 1,
    'messaging_webhooks_events_total{type="message.failed",carrier="carrierB"}': 1,
    'messaging_webhooks_events_total{type="unrecognized",carrier="none"}': 1,
  })
  const quarantined = Object.values(nonZero(text, 'messaging_webhooks_quarantined'))
  expect(quarantined).toEqual([1])
  const offset = samplesOf(text).get('messaging_webhooks_clock_offset_seconds')
  expect(offset).toBeGreaterThanOrEqual(0)
  expect(offset).toBeLessThan(60)
  // It agrees with the counts of `stats()`.
  expect(await receiver.stats()).toMatchObject({ accepted: 4, duplicates: 1, refused: 1, unhandled: 3 })
})

test('the offset of the clock is that of the last new event: no captured callback, sent again, changes it', async () => {
  let nowMs = 1_700_000_000_000
  const signedAtMs = nowMs
  const body = JSON.stringify(callback.smsDelivery())
  const { receiver, url } = await receiving({ clock: () => nowMs }, { kind: 'status' })
  const replay = () => post(url, body, { timestamp: signedAtMs / 1_000 })
  const offset = async () => samplesOf(await receiver.metrics()).get('messaging_webhooks_clock_offset_seconds')
  nowMs = signedAtMs + 400_000
  expect((await replay()).status).toBe(401)
  expect(await offset()).toBeUndefined()
  nowMs = signedAtMs + 2_000
  expect((await replay()).status).toBe(204)
  expect(await offset()).toBe(2)
  nowMs = signedAtMs + 250_000
  expect((await replay()).status).toBe(204)
  expect(await offset()).toBe(2)
  nowMs = signedAtMs + 400_000
  expect((await replay()).status).toBe(401)
  expect(await offset()).toBe(2)
})

test('labels are bounded for any input of a sender: all values are in the tables', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  const before = (await receiver.metrics()).split('\n').length
  for (const word of ['__proto__', 'constructor', '"}\n', 'x'.repeat(500)])
    for (const field of ['status', 'network', 'channel', 'project', 'type', 'messageId'])
      await post(url, { ...callback.smsDelivery(), [field]: word })
  await receiver.drain()
  // An attempt has a histogram for each type that came.
  const text = await receiver.metrics()
  // Two that a process knows only after it has started.
  expect(text.split('\n').length - before).toBeLessThanOrEqual(3 * 16 + 2)
  expect(text).not.toMatch(/__proto__|constructor|xxx/)
})

test('attempts by outcome, and durations from arrival to end, from the first scrape on', async () => {
  const clock = fakeClock()
  const retry = { attempts: 2, initialDelayMs: 0, maxDelayMs: 0 }
  const { receiver, url } = await receiving(
    { clock, retry, spool: false, handlerTimeoutMs: 50_000 },
    { kind: 'status' },
  )
  const attempts = 'messaging_webhooks_attempt_duration_seconds_'
  receiver.on('message.failed', () => Promise.reject(new Error('no')))
  receiver.on('message.delivered', () => new Promise<void>((resolve) => void clock.setTimer(resolve, 2_000)))
  // It is counted when it is abandoned, and not again when it ends.
  receiver.on('message.sent', () => new Promise<void>((resolve) => void clock.setTimer(resolve, 55_000)))
  async function drained(): Promise<void> {
    const drain = receiver.drain({ deadlineMs: 60_000 })
    await letTimePass(clock, drain)
  }
  await post(url, callback.smsDelivery())
  await drained()
  expect(nonZero(await receiver.metrics(), attempts)).toEqual({})
  await post(url, callback.smsDelivery())
  await post(url, callback.smsDelivery({ status: 'network_failure' }))
  await post(url, callback.chatApp({ statuses: { status: 'sent' } }))
  await drained()
  const text = await receiver.metrics()
  const counts = (name: string): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(nonZero(text, name)).filter(([key]) => key.includes('_count')))
  expect(counts(attempts)).toEqual({
    [`${attempts}count{type="message.delivered",outcome="succeeded"}`]: 1,
    [`${attempts}count{type="message.failed",outcome="failed"}`]: 2,
    [`${attempts}count{type="message.sent",outcome="timed_out"}`]: 1,
  })
  expect(samplesOf(text).get(`${attempts}sum{type="message.delivered",outcome="succeeded"}`)).toBeCloseTo(2, 1)
  expect(counts('messaging_webhooks_settled_seconds')).toEqual({
    'messaging_webhooks_settled_seconds_count{outcome="done"}': 2,
    'messaging_webhooks_settled_seconds_count{outcome="dead"}': 1,
  })
  expect(samplesOf(text).get('messaging_webhooks_dead_letters')).toBe(1)
})

test('calls of the store and failed ones; omits values that the store does not report', async () => {
  const store = faultyStore(memoryStore())
  const clock = fakeClock()
  const { receiver, url } = await receiving({ store, clock, spool: false }, { kind: 'status' })
  await receiver.start()
  await receiver.metrics()
  await post(url, callback.smsDelivery())
  await receiver.drain()
  const well = await receiver.metrics()
  expect(samplesOf(well).get('messaging_webhooks_store_up')).toBe(1)
  expect(samplesOf(well).get('messaging_webhooks_unsettled')).toBe(0)
  expect(samplesOf(well).get('messaging_webhooks_oldest_due_seconds')).toBe(0)
  expect(samplesOf(well).get('messaging_webhooks_store_call_duration_seconds_count{verb="settle"}')).toBe(1)
  expect(nonZero(well, 'messaging_webhooks_store_call_failures_total')).toEqual({})
  store.fault = 'throws'
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  const away = await receiver.metrics()
  expect(samplesOf(away).get('messaging_webhooks_store_up')).toBe(0)
  expect(samplesOf(away).has('messaging_webhooks_unsettled')).toBe(false)
  expect(Object.keys(nonZero(away, 'messaging_webhooks_store_call_failures_total'))).toContain(
    'messaging_webhooks_store_call_failures_total{verb="admit"}',
  )
})

test('omits the oldest due event if another receiver runs the handlers; keeps the rest after close', async () => {
  const { receiver, url } = await receiving({ store: await lastingStore(), spool: false, dispatch: false })
  await post(url, callback.smsDelivery())
  const text = await receiver.metrics()
  expect(samplesOf(text).has('messaging_webhooks_oldest_due_seconds')).toBe(false)
  expect(samplesOf(text).get('messaging_webhooks_unsettled')).toBe(1)
  expect(text).not.toContain(AUTH_KEY)
  await receiver.close({ deadlineMs: 100 })
  const closed = samplesOf(await receiver.metrics())
  expect(closed.get('messaging_webhooks_store_up')).toBe(0)
  expect(closed.get('messaging_webhooks_callbacks_total{kind="any",outcome="new",code=""}')).toBe(1)
})

async function counting({ isSpooled = true } = {}) {
  const store = faultyStore(memoryStore())
  const clock = fakeClock()
  const serving = await receiving({ store, clock, spool: isSpooled ? ownFolder() : false })
  return { ...serving, store, clock }
}

test('without a spool, while the store fails', async () => {
  const { receiver, url, store } = await counting({ isSpooled: false })
  await receiver.start()
  store.fault = 'throws'
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(await receiver.stats()).toMatchObject({ accepted: 0, refused: 1, store: 'unavailable', spooled: 0 })
})

test('counts spooled callbacks as unsettled once the store is back', async () => {
  const { receiver, url, store } = await counting()
  await receiver.start()
  store.fault = 'throws'
  await post(url, callback.smsDelivery())
  store.fault = 'none'
  // Time stands still, so the spool does not drain.
  expect(await receiver.stats()).toMatchObject({ store: 'up', spooled: 1, unsettled: 1 })
})

test('keeps the counts of this process after close()', async () => {
  const { receiver, server, url, clock } = await counting()
  await post(url, callback.smsDelivery())
  server.closeAllConnections()
  server.close()
  await letTimePass(clock, receiver.close())
  expect(await receiver.stats()).toMatchObject({ accepted: 1, store: 'closed', unsettled: undefined })
})

test('the page of counts has every count', async () => {
  const { receiver } = await counting()
  const table = tableOf(readPage('docs/reference/counts.md'), 'counts', ['Count', 'What'])
  const listed = table.map(([name = '']) => name.replaceAll('`', ''))
  expect(listed.toSorted()).toEqual(Object.keys(await receiver.stats()).toSorted())
})
