/** A process that was suspended for longer than its leases detects that before it does anything else. */
import type { Clock } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { claim } from '../../src/store-conformance/samples.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { gate } from '../support/gate.ts'
import { post, receiving } from '../support/receiving.ts'
import { leasingStore, newLeasing } from '../support/stores.ts'

/** One for the schema, one for each of two handlers, and ten. */
const LEASE_MS = 13_000
const BEAT_MS = 250
const CONCURRENCY = 4

/** A clock that advances while the process is suspended: nothing runs meanwhile, and then what is due. */
function stoppable() {
  const inner = fakeClock()
  let stoodMs = 0
  const clock: Clock = { ...inner, now: () => inner.now() + stoodMs }
  return {
    clock,
    advance: inner.advance,
    standStill(ms: number) {
      stoodMs += ms
    },
  }
}

/** A memory store that other workers seem to share, and what one of them does with it. */
function sharedStore({ shared = true, gives = false } = {}) {
  const leasing = newLeasing()
  const { capabilities, open } = leasingStore(leasing, { gives })
  return { leasing, store: { capabilities: { ...capabilities, shared }, open } }
}

async function standing(options: { readonly shared?: boolean; readonly gives?: boolean } = {}) {
  const time = stoppable()
  const { store, leasing } = sharedStore(options)
  const all = await receiving({ clock: time.clock, store, handlerTimeoutMs: 1_000, concurrency: CONCURRENCY })
  const { receiver, url } = all
  const { open, opened } = gate()
  const first: { readonly messageId: string; readonly attempt: number; readonly signal: AbortSignal }[] = []
  const second: string[] = []
  receiver.on('message.*', async ({ messageId }, { attempt, signal }) => {
    first.push({ messageId, attempt, signal })
    if (attempt === 1) await opened
  })
  receiver.on('message.*', ({ messageId }, { attempt }) => void second.push(`${messageId} ${attempt}`))
  await receiver.start()
  const timestamp = Math.floor(time.clock.now() / 1_000)
  for (let index = 0; index < CONCURRENCY; index += 1) {
    await post(url, callback.smsDelivery({ messageId: `m${index}`, timestamp }))
    await time.advance(0)
  }
  await expect.poll(() => first.length).toBe(CONCURRENCY)
  const codes = (): readonly string[] => all.errors.map(({ code }) => code)

  /** Another process claims what is due. */
  async function leasedElsewhere(): Promise<number> {
    const { elsewhere } = leasing
    return elsewhere === undefined ? 0 : (await claim(elsewhere)).claims.length
  }

  return { ...all, ...time, open, first, second, leasing, codes, leasedElsewhere }
}

test('aborts handlers with expired leases at once, reports each once, and settles nothing under those leases', async () => {
  const { standStill, advance, open, first, second, leasing, codes, leasedElsewhere, receiver } = await standing()
  standStill(LEASE_MS)
  expect(await leasedElsewhere()).toBe(CONCURRENCY)
  await advance(BEAT_MS)
  expect(first.map(({ signal }) => signal.aborted)).toEqual(first.map(() => true))
  expect(first.map(({ signal }) => signal.reason as unknown)).toMatchObject(first.map(() => ({ code: 'lease_lost' })))
  expect(codes()).toEqual(first.map(() => 'lease_lost'))
  // They hold no slots any more, and reach their timeout as well.
  expect(await receiver.stats()).toMatchObject({ running: 0 })
  await advance(5_000)
  open()
  await advance(5_000)
  expect(second).toEqual([])
  expect(leasing.outcomes).toEqual([])
  expect(codes()).toEqual(first.map(() => 'lease_lost'))
})

test('claims again: what no other process claimed meanwhile runs again when its handlers have ended', async () => {
  const { standStill, advance, open, first, second, codes, receiver } = await standing()
  standStill(LEASE_MS)
  await advance(BEAT_MS)
  // Not twice at once in this process.
  expect(first).toHaveLength(CONCURRENCY)
  open()
  await advance(1_000)
  expect(first.map(({ attempt }) => attempt).toSorted()).toEqual([1, 1, 1, 1, 2, 2, 2, 2])
  expect(second.toSorted()).toEqual(['m0 2', 'm1 2', 'm2 2', 'm3 2'])
  expect(codes()).toEqual(['lease_lost', 'lease_lost', 'lease_lost', 'lease_lost'])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
})

test('a handler that continues before the detection is not followed by the next one', async () => {
  const { standStill, advance, open, second, leasing, codes, leasedElsewhere } = await standing()
  standStill(LEASE_MS)
  expect(await leasedElsewhere()).toBe(CONCURRENCY)
  open()
  await expect.poll(() => codes().length).toBe(CONCURRENCY)
  expect({ second, outcomes: leasing.outcomes }).toEqual({ second: [], outcomes: [] })
  expect(new Set(codes())).toEqual(new Set(['lease_lost']))
  await advance(0)
})

test('a handler that throws because of it is not retried as a failure', async () => {
  const time = stoppable()
  const { store, leasing } = sharedStore()
  const { receiver, url, errors } = await receiving({
    clock: time.clock,
    store,
    handlerTimeoutMs: 1_000,
    retry: { attempts: 1 },
  })
  receiver.on('message.*', (_event, { signal }) => {
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
  })
  await post(url, callback.smsDelivery())
  await time.advance(0)
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  time.standStill(LEASE_MS)
  await time.advance(BEAT_MS)
  expect(errors.map(({ code }) => code)).toContain('lease_lost')
  expect(errors.map(({ code }) => code)).not.toContain('dead_letter')
  expect(leasing.outcomes.filter((outcome) => outcome !== 'retry')).toEqual([])
  expect(await receiver.stats()).toMatchObject({ deadLetters: 0, unsettled: 1 })
})

test('rolls back the transactions of the handlers', async () => {
  const { standStill, advance, open, leasing, codes, leasedElsewhere } = await standing({ gives: true })
  expect(leasing.transactions).toEqual({ begun: CONCURRENCY, ended: 0 })
  standStill(LEASE_MS)
  expect(await leasedElsewhere()).toBe(CONCURRENCY)
  await advance(BEAT_MS)
  open()
  await advance(0)
  expect(leasing.transactions).toEqual({ begun: CONCURRENCY, ended: CONCURRENCY })
  expect(new Set(codes())).toEqual(new Set(['lease_lost']))
  expect(codes()).toHaveLength(CONCURRENCY)
})

test('begins no handler when its transaction took longer to begin than the lease has left', async () => {
  const time = stoppable()
  const { store, leasing } = sharedStore({ gives: true })
  const { open, opened } = gate()
  leasing.beforeTransaction = () => opened
  const { receiver, url, errors } = await receiving({ clock: time.clock, store, handlerTimeoutMs: 1_000 })
  const begun: number[] = []
  receiver.on('message.*', (_event, { attempt }) => void begun.push(attempt))
  await receiver.start()
  await post(url, callback.smsDelivery())
  await time.advance(0)
  await expect.poll(() => leasing.transactions.begun).toBe(1)
  time.standStill(LEASE_MS)
  open()
  await expect.poll(() => leasing.outcomes[0]).toBe('release')
  await time.advance(1_000)
  // Released attempts do not count.
  expect(begun).toEqual([1])
  expect(leasing.transactions).toEqual({ begun: 2, ended: 2 })
  expect(leasing.outcomes).toEqual(['release', 'done'])
  expect(errors).toEqual([])
})

test('a suspension has no effect with a store that is not shared', async () => {
  const { standStill, advance, open, first, second, codes, receiver } = await standing({ shared: false })
  standStill(LEASE_MS)
  await advance(BEAT_MS)
  expect(first.map(({ signal }) => signal.aborted)).toEqual(first.map(() => false))
  open()
  await advance(0)
  expect(second).toHaveLength(CONCURRENCY)
  expect(codes()).toEqual([])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
})

test('a suspension shorter than the lease has no effect either', async () => {
  const { standStill, advance, open, first, second, codes, receiver } = await standing()
  standStill(LEASE_MS - 2 * BEAT_MS)
  await advance(BEAT_MS)
  expect(first.map(({ signal }) => signal.aborted)).toEqual(first.map(() => false))
  open()
  await advance(0)
  expect(second).toHaveLength(CONCURRENCY)
  expect(codes()).toEqual([])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
})

test('begins no handler when a schema took longer than the lease', async () => {
  const time = stoppable()
  const { store, leasing } = sharedStore()
  const { open, opened } = gate()
  const validate = () => opened.then(() => ({ value: {} }))
  const { receiver, url, errors } = await receiving(
    {
      clock: time.clock,
      store,
      handlerTimeoutMs: 1_000,
      schemas: { payment: { '~standard': { version: 1, vendor: 'the tests', validate } } },
    },
    { kind: 'payment' },
  )
  const begun: number[] = []
  receiver.on('payment', (_event, { attempt }) => void begun.push(attempt))
  await receiver.start()
  await post(url, { id: 'p1' })
  await time.advance(0)
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  time.standStill(LEASE_MS)
  open()
  await expect.poll(() => errors.map(({ code }) => code)).toEqual(['lease_lost'])
  await time.advance(1_000)
  // Under its own lease.
  expect(begun).toEqual([2])
  expect(leasing.outcomes).toEqual(['done'])
})
