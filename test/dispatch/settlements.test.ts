/** Settlements: a store may defer those that no caller waits for, and an outage is reported once. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import type { OpenStore } from 'messaging-webhooks/store'
import { holdFirst, leasingReceiver } from '../support/leasing.ts'
import { atRest, letTimePass, fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'
import { leasingStore, newLeasing, brokenStore } from '../support/stores.ts'
import { gate } from '../support/gate.ts'

test('nothing waits for the settlement of an event that came alone', async () => {
  const { receiver, leasing, send } = await leasingReceiver()
  receiver.on('message.*', () => {})
  await send('a')
  await send('b')
  await expect.poll(() => leasing.deferrable).toEqual([true, true])
})

test('an answer waits for it with answer: handled', async () => {
  const { receiver, leasing, send } = await leasingReceiver({ answer: 'handled' })
  receiver.on('message.*', () => {})
  expect(await send('a')).toMatchObject({ status: 204 })
  expect(leasing.deferrable).toEqual([false])
})

test('the next event of its message waits for it', async () => {
  const { receiver, url, report, leasing } = await leasingReceiver()
  const { handled, release } = holdFirst(receiver)
  await post(url, report('a', 'queued'))
  await expect.poll(() => handled).toHaveLength(1)
  await post(url, report('a', 'success'))
  release()
  await expect.poll(() => leasing.deferrable.slice(0, 1)).toEqual([false])
  await expect.poll(() => handled).toHaveLength(2)
})

test('drain() waits for it', async () => {
  const leasing = newLeasing()
  const { receiver, url } = await receiving({ store: leasingStore(leasing) })
  const { handled, release } = holdFirst(receiver)
  await post(url, callback.smsDelivery())
  await expect.poll(() => handled).toHaveLength(1)
  const drained = receiver.drain()
  release()
  await expect.poll(() => leasing.deferrable).toEqual([false])
  expect(await drained).toBe(true)
})

test('a value that the store gives to handlers is in use until the settlement', async () => {
  const leasing = newLeasing()
  const { receiver, url } = await receiving({ store: leasingStore(leasing, { gives: true }) })
  receiver.on('message.*', () => {})
  await post(url, callback.smsDelivery())
  await expect.poll(() => leasing.deferrable).toEqual([false])
})

const HOLD_MS = 25

/** A store that holds settlements back until the test's clock moves. */
async function holding({ durable = false } = {}) {
  const leasing = newLeasing()
  const all = await leasingReceiver({ store: leasingStore(leasing, { holdMs: HOLD_MS, durable }), concurrency: 4 })
  return { ...all, leasing }
}

test('holds back settlements that nothing waits for, and writes them together', async () => {
  const { receiver, clock, leasing, send } = await holding()
  receiver.on('message.*', () => {})
  await send('a')
  await send('b')
  await atRest()
  expect(leasing.together).toEqual([])
  await clock.advance(HOLD_MS)
  expect(leasing.together).toEqual([2])
  expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
})

test('holds back no more than there are slots', async () => {
  const { receiver, leasing, send } = await holding()
  receiver.on('message.*', () => {})
  for (const name of ['a', 'b', 'c', 'd']) await send(name)
  await expect.poll(() => leasing.together).toEqual([4])
})

test('the next report of a message does not wait for held settlements', async () => {
  const { receiver, url, report, leasing } = await holding()
  const handled: unknown[] = []
  receiver.on('message.*', ({ status }) => void handled.push(status))
  await post(url, report('a', 'queued'))
  await expect.poll(() => handled).toEqual(['queued'])
  await atRest()
  expect(leasing.together).toEqual([])
  await post(url, report('a', 'success'))
  await expect.poll(() => handled).toEqual(['queued', 'success'])
})

test('drain() does not wait for held settlements', async () => {
  const { receiver, leasing, send } = await holding()
  const handled: unknown[] = []
  receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
  await send('a')
  await expect.poll(() => handled).toEqual(['a'])
  await atRest()
  expect(leasing.together).toEqual([])
  expect(await receiver.drain()).toBe(true)
  expect(leasing.together).toEqual([1])
})

test('close() writes held settlements, and leaves none of them to other workers', async () => {
  const { receiver, clock, leasing, send } = await holding({ durable: true })
  const handled: unknown[] = []
  receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
  await send('a')
  await expect.poll(() => handled).toEqual(['a'])
  await atRest()
  await letTimePass(clock, receiver.close({ deadlineMs: 0 }))
  expect(leasing.outcomes).toEqual(['done'])
})

const MESSAGES = 8

function down(): never {
  throw new Error('The store is unavailable.')
}

test('reports an outage once, whatever the number of claims and settlements, and the next outage again', async () => {
  const clock = fakeClock()
  const broken: Partial<Pick<OpenStore, 'claim' | 'settle'>> = {}
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  for (const expected of [1, 2]) {
    const { open: goOn, opened: held } = gate()
    const off = receiver.onAny(() => held)
    for (let index = 0; index < MESSAGES; index += 1) await post(url, callback.smsDelivery())
    await clock.advance(0)
    Object.assign(broken, { claim: down, settle: down })
    goOn()
    await clock.advance(5_000)
    expect(errors.map(({ code }) => code)).toEqual(Array.from({ length: expected }, () => 'store_failed'))
    delete broken.claim
    delete broken.settle
    await clock.advance(5_000)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
    off()
  }
})

test('a settlement sent before the store failed does not end the outage', async () => {
  const clock = fakeClock()
  let answer = (): void => {}
  const broken: Partial<Pick<OpenStore, 'claim' | 'settle'>> = {
    settle: () => new Promise((resolve) => (answer = () => resolve([true]))),
  }
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  const codes = () => errors.map(({ code }) => code)
  let handled = 0
  receiver.onAny(() => void (handled += 1))
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(handled).toBe(1)
  broken.claim = down
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(codes()).toEqual(['store_failed'])
  answer()
  // The claims of this time fail too, and belong to the same outage.
  await clock.advance(4_000)
  expect(codes()).toEqual(['store_failed'])
})
