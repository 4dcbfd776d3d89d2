/** Health on a full disk: a spool that cannot write makes the receiver unready, until there is space. */
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect } from 'vitest'
import { faultyStore } from '../support/faulty-store.ts'
import { post, receiving } from '../support/receiving.ts'
import { fill, onSmallDisk } from '../support/small-disk.ts'

const MIB = 1024 * 1024
const MAX_CALLBACKS = 400

onSmallDisk('a spool on a full disk is not ready, and is ready again when there is room', 60_000, async (mountDisk) => {
  const disk = mountDisk(16 * MIB)
  const store = faultyStore(memoryStore())
  const { receiver, url } = await receiving({ store, spool: disk, storeTimeoutMs: 1_000 })
  const ready = async (): Promise<string> => {
    const { ready: isReady, reasons } = await receiver.health()
    return [isReady, ...reasons.map(({ code }) => code)].join(' ')
  }
  await receiver.start()
  expect(await ready()).toBe('true')
  store.fault = 'throws'
  const freeSpace = fill(disk)
  // The reserve absorbs some.
  let status = 204
  for (let sent = 0; status === 204 && sent < MAX_CALLBACKS; sent += 1)
    ({ status } = await post(url, { ...callback.smsDelivery(), padding: 'x'.repeat(100 * 1024) }))
  expect(status).toBe(503)
  await expect.poll(ready).toBe('false spool_failing store_away')
  freeSpace()
  // The check finds it without any callback.
  await expect.poll(ready, { timeout: 10_000 }).toBe('true store_away')
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
})
