/** Settlements that a store may put off: those that nobody waits for, and no others. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { holdFirst, leasingReceiver } from '../support/leasing.ts'
import { post, receiving } from '../support/receiving.ts'
import { leasingStore, newLeasing } from '../support/stores.ts'

test('nobody waits for the settlement of an event that came alone', async () => {
  const { receiver, leasing, send } = await leasingReceiver()
  receiver.on('message.*', () => {})
  await send('a')
  await send('b')
  await expect.poll(() => leasing.lazily).toEqual([true, true])
})

test('an answer waits for it with answer: handled', async () => {
  const { receiver, leasing, send } = await leasingReceiver({ answer: 'handled' })
  receiver.on('message.*', () => {})
  expect(await send('a')).toMatchObject({ status: 204 })
  expect(leasing.lazily).toEqual([false])
})

test('the next event of its message waits for it', async () => {
  const { receiver, url, report, leasing } = await leasingReceiver()
  const { handled, letGo } = holdFirst(receiver)
  await post(url, report('a', 'queued'))
  await expect.poll(() => handled).toHaveLength(1)
  await post(url, report('a', 'success'))
  letGo()
  await expect.poll(() => leasing.lazily.slice(0, 1)).toEqual([false])
  await expect.poll(() => handled).toHaveLength(2)
})

test('who drains waits for it', async () => {
  const leasing = newLeasing()
  const { receiver, url } = await receiving({ store: leasingStore(leasing) })
  const { handled, letGo } = holdFirst(receiver)
  await post(url, callback.smsDelivery())
  await expect.poll(() => handled).toHaveLength(1)
  const drained = receiver.drain()
  letGo()
  await expect.poll(() => leasing.lazily).toEqual([false])
  expect(await drained).toBe(true)
})

test('what the store gave to the handlers is in use until it is settled', async () => {
  const leasing = newLeasing()
  const { receiver, url } = await receiving({ store: leasingStore(leasing, { gives: true }) })
  receiver.on('message.*', () => {})
  await post(url, callback.smsDelivery())
  await expect.poll(() => leasing.lazily).toEqual([false])
})
