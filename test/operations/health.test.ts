/** Each state of health, caused by its real fault. */
import { rmSync, writeFileSync } from 'node:fs'
import express from 'express'
import { memoryStore, type ReceiverHealth } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { faultyStore, type Fault } from '../support/faulty-store.ts'
import { post, receiving, serve, type SomeOptions } from '../support/receiving.ts'
import { brokenStore, lastingStore } from '../support/stores.ts'
import { ownFolder } from '../support/own-folder.ts'

const STORE_TIMEOUT_MS = 3_000

/** The health fields that these tests compare, in one line. */
function summary({ live, ready, working, reasons }: ReceiverHealth): string {
  const sides = Object.entries({ live, ready, working }).map(([side, is]) => `${side}: ${String(is)}`)
  return [...sides, ...reasons.map(({ code }) => code)].join(', ')
}

async function withStore(options: SomeOptions = {}) {
  const store = faultyStore(memoryStore())
  const clock = fakeClock()
  const serving = await receiving({ store, clock, spool: false, storeTimeoutMs: STORE_TIMEOUT_MS, ...options })
  async function health(): Promise<string> {
    const asked = serving.receiver.health()
    await letTimePass(clock, asked)
    return summary(await asked)
  }
  return { ...serving, store, clock, health }
}

const WELL = 'live: true, ready: true, working: true'

test('is healthy, and `working` is undefined before the first event', async () => {
  const { receiver, url, health } = await withStore()
  expect(await health()).toBe('live: true, ready: true, working: undefined, not_started')
  expect((await receiver.health()).oldestDueMs).toBe(undefined)
  await post(url, callback.smsDelivery())
  await expect.poll(health).toBe(WELL)
  expect(await receiver.health()).toEqual({ live: true, ready: true, working: true, oldestDueMs: 0, reasons: [] })
})

test.each<Fault>(['throws', 'hangs', 'will not open'])(
  'a store that %s, without a spool: not ready until it is back',
  async (fault) => {
    const { receiver, store, clock, health } = await withStore()
    if (fault !== 'will not open') await receiver.start()
    store.fault = fault
    await clock.advance(1_000)
    const askedMs = clock.now()
    expect(await health()).toMatch(/^live: true, ready: false, working: false, nowhere_to_keep/)
    expect(clock.now() - askedMs).toBeLessThanOrEqual(STORE_TIMEOUT_MS)
    store.fault = 'none'
    await clock.advance(1_000)
    if (fault === 'will not open') await receiver.start()
    await expect.poll(health).toBe(WELL)
  },
)

test.each<Fault>(['throws', 'hangs', 'will not open'])(
  'a store that %s, with a spool: stays ready, because the spool accepts callbacks; stats() has the local counts alone',
  async (fault) => {
    const { receiver, url, store, clock, health } = await withStore({ spool: ownFolder() })
    if (fault !== 'will not open') await receiver.start()
    store.fault = fault
    const posted = post(url, callback.smsDelivery())
    if (fault === 'hangs') await letTimePass(clock, posted)
    expect((await posted).status).toBe(204)
    const askedMs = clock.now()
    expect(await health()).toMatch(/^live: true, ready: true, working: (false|undefined), store_away/)
    // The spool accepts them, and no caller waits for a store that hangs.
    expect(clock.now() - askedMs).toBeLessThan(STORE_TIMEOUT_MS)
    const counted = receiver.stats()
    await letTimePass(clock, counted)
    expect(clock.now() - askedMs).toBeLessThan(2 * STORE_TIMEOUT_MS)
    const local = { accepted: 1, byType: { 'message.delivered': 1 }, running: 0, spooled: 1 }
    expect(await counted).toMatchObject({
      ...local,
      store: 'unavailable',
      unsettled: undefined,
      deadLetters: undefined,
    })
    store.fault = 'none'
    await expect.poll(() => clock.advance(1_000).then(health), { timeout: 10_000, interval: 1 }).toBe(WELL)
    const settled = { store: 'up', spooled: 0, unsettled: 0, deadLetters: 0 }
    await expect.poll(() => clock.advance(1_000).then(() => receiver.stats()), { interval: 1 }).toMatchObject(settled)
  },
)

test('a spool without its folder fails, which matters while the store is unavailable', async () => {
  const folder = ownFolder()
  const { receiver, url, store, clock, health } = await withStore({ spool: folder })
  await receiver.start()
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'in its place')
  expect(await health()).toBe(WELL)
  store.fault = 'throws'
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(await clock.advance(1_000).then(health)).toBe(
    'live: true, ready: false, working: false, spool_failing, store_away',
  )
  store.fault = 'none'
  await expect.poll(() => clock.advance(1_000).then(health), { timeout: 10_000, interval: 1 }).toBe(WELL)
})

test('a full store is not ready until an event in it is settled', async () => {
  let fails = true
  const { receiver, url, clock, health } = await withStore({ store: memoryStore({ maxEvents: 1 }) })
  receiver.onAny(() => {
    if (fails) throw new Error('not yet')
  })
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
  expect(await health()).toBe(WELL)
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(await clock.advance(1_000).then(health)).toBe('live: true, ready: false, working: true, store_full')
  fails = false
  await expect.poll(() => clock.advance(1_000).then(health), { interval: 1 }).toBe(WELL)
})

test('is not ready while closing, and neither live nor working once closed', async () => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock, store: await lastingStore(), spool: false })
  let finish = (): void => {}
  receiver.on('message.delivered', () => new Promise<void>((resolve) => (finish = resolve)))
  await post(url, callback.smsDelivery())
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  const closed = receiver.close()
  expect(summary(await receiver.health())).toBe('live: true, ready: false, working: true, closing')
  finish()
  await letTimePass(clock, closed)
  expect(summary(await receiver.health())).toBe('live: false, ready: false, working: false, closed')
})

test('an event that has waited for more than a minute because every slot is busy', async () => {
  const { receiver, url, clock, health } = await withStore({ concurrency: 1, handlerTimeoutMs: 600_000 })
  const waiting: (() => void)[] = []
  receiver.onAny(() => new Promise<void>((resolve) => void waiting.push(resolve)))
  // The first claim finds nothing, so events run as they are accepted until there is no capacity.
  await receiver.start()
  await expect.poll(health).toBe(WELL)
  for (let count = 0; count < 6; count += 1) await post(url, callback.smsDelivery())
  expect(await health()).toBe(WELL)
  await clock.advance(61_000)
  expect(await health()).toBe('live: true, ready: true, working: false, backlog_old')
  expect((await receiver.health()).oldestDueMs).toBeGreaterThan(60_000)
  await expect
    .poll(async () => {
      for (const resolve of waiting.splice(0)) resolve()
      return clock.advance(100).then(health)
    })
    .toBe(WELL)
})

test('a stuck claim loop: the clock runs no timer', async () => {
  const real = fakeClock()
  let isBroken = false
  const clock = { ...real, soon: (work: () => void) => (isBroken ? undefined : real.soon(work)) }
  const { receiver, url } = await receiving({ clock, spool: false, concurrency: 1, storeTimeoutMs: STORE_TIMEOUT_MS })
  await receiver.start()
  await expect.poll(async () => summary(await receiver.health())).toBe(WELL)
  isBroken = true
  await post(url, callback.smsDelivery())
  await post(url, callback.smsDelivery())
  await real.advance(1_000)
  expect(summary(await receiver.health())).toBe(WELL)
  await real.advance(STORE_TIMEOUT_MS + 10_001)
  expect(summary(await receiver.health())).toBe('live: true, ready: true, working: false, claims_stuck')
  isBroken = false
})

test('`working` is undefined if another receiver runs the handlers', async () => {
  const { receiver } = await receiving({ store: await lastingStore(), spool: false, dispatch: false })
  await receiver.start()
  expect(summary(await receiver.health())).toBe('live: true, ready: true, working: undefined, not_dispatching')
})

test('probes within a second share one query of the store; only /readyz queries, and it fails first', async () => {
  let queries = 0
  const store = brokenStore({
    read(_, go) {
      queries += 1
      return go()
    },
  })
  const { receiver } = await receiving({ store })
  const app = express()
  app.use('/status', receiver.middleware('status'))
  app.use('/health', receiver.healthMiddleware())
  app.use((_request, response) => void response.status(418).send('next'))
  const url = await serve(app)
  async function get(path: string, method = 'GET') {
    const response = await fetch(`${url}${path}`, { method })
    return { status: response.status, caching: response.headers.get('cache-control'), text: await response.text() }
  }
  await receiver.start()
  const answers = await Promise.all(Array.from({ length: 50 }, () => get('health/readyz?verbose')))
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"ready":true,"working":true,"reasons":[]}']))
  expect(answers[0]).toMatchObject({ status: 200, caching: 'no-store' })
  // A slow machine may take more than a second for fifty.
  expect(queries).toBeLessThan(10)
  expect(await get('health/livez', 'HEAD')).toMatchObject({ status: 200, text: '' })
  expect((await get('health/livez', 'POST')).status).toBe(405)
  for (const other of ['health/', 'health/livez/more', 'elsewhere', 'livez'])
    expect((await get(other)).text).toBe('next')

  let finish = (): void => {}
  receiver.onAny(() => new Promise<void>((resolve) => (finish = resolve)))
  await post(`${url}status`, callback.smsDelivery())
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  const closed = receiver.close()
  expect(await get('health/livez')).toMatchObject({ status: 200, text: '{"live":true}' })
  expect(await get('health/readyz')).toMatchObject({
    status: 503,
    text: '{"ready":false,"working":true,"reasons":["closing"]}',
  })
  finish()
  await closed
  expect(await get('health/livez')).toMatchObject({ status: 503, text: '{"live":false}' })
  expect(await get('health/readyz')).toMatchObject({
    status: 503,
    text: '{"ready":false,"working":false,"reasons":["closed"]}',
  })
})

test('alone on a server, answers 404 to anything else', async () => {
  const { receiver } = await receiving()
  const url = await serve(receiver.healthMiddleware())
  expect((await fetch(`${url}readyz`)).status).toBe(200)
  expect((await fetch(`${url}other`)).status).toBe(404)
})
