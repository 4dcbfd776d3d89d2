/** Counts for metrics: `stats()` answers in any state of the store. `health.test.ts` has each fault of one. */
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { post, receiving } from '../support/receiving.ts'
import { readPage, tableOf } from '../../docs/markdown.ts'
import { ownFolder } from '../support/own-folder.ts'

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
