/** Settlements: a store may defer those that no caller waits for, and an outage is reported once. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { holdFirst, leasingReceiver } from '../support/leasing.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'
import { brokenStore, leasingStore, newLeasing, type Broken } from '../support/stores.ts'
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

test('a transaction of the handlers ends with the settlement, which is awaited', async () => {
  const leasing = newLeasing()
  const { receiver, url } = await receiving({ store: leasingStore(leasing, { gives: true }) })
  receiver.on('message.*', () => {})
  await post(url, callback.smsDelivery())
  await expect.poll(() => leasing.deferrable).toEqual([false])
})

const MESSAGES = 8

function down(): never {
  throw new Error('The store is unavailable.')
}

test('reports an outage once, whatever the number of claims and settlements, and the next outage again', async () => {
  const clock = fakeClock()
  const broken: Broken = {}
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  for (const expected of [1, 2]) {
    const { open: goOn, opened: held } = gate()
    const off = receiver.onAny(() => held)
    for (let index = 0; index < MESSAGES; index += 1) await post(url, callback.smsDelivery())
    await clock.advance(0)
    Object.assign(broken, { due: down, settle: down })
    goOn()
    await clock.advance(5_000)
    expect(errors.map(({ code }) => code)).toEqual(Array.from({ length: expected }, () => 'store_failed'))
    delete broken.due
    delete broken.settle
    await clock.advance(5_000)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
    off()
  }
})

test('a settlement sent before the store failed does not end the outage', async () => {
  const clock = fakeClock()
  let answer = (): void => {}
  const settled = { held: true, nextInMs: undefined }
  const broken: Broken = { settle: () => new Promise((resolve) => (answer = () => resolve([settled]))) }
  const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken) })
  const codes = () => errors.map(({ code }) => code)
  let handled = 0
  receiver.onAny(() => void (handled += 1))
  await post(url, callback.smsDelivery())
  await clock.advance(0)
  expect(handled).toBe(1)
  broken.due = down
  // It waits for an earlier report, so it is left to a claim.
  await post(url, callback.chatApp({ statuses: { status: 'read' } }))
  await clock.advance(0)
  expect(codes()).toEqual(['store_failed'])
  answer()
  // The claims of this time fail too, and belong to the same outage.
  await clock.advance(4_000)
  expect(codes()).toEqual(['store_failed'])
})
