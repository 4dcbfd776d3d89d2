/** Counts for metrics: `stats()` answers in any state of the store. */
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { faultyStore, type Fault } from '../support/faulty-store.ts'
import { post, receiving } from '../support/receiving.ts'
import { readPage, tableOf } from '../../docs/markdown.ts'
import { ownFolder } from '../support/own-folder.ts'

const STORE_TIMEOUT_MS = 3_000

async function counting({ isSpooled = true } = {}) {
  const folder = ownFolder()
  const store = faultyStore(memoryStore())
  const clock = fakeClock()
  const spool = isSpooled ? folder : false
  const serving = await receiving({ store, clock, spool, storeTimeoutMs: STORE_TIMEOUT_MS })
  return { ...serving, store, clock }
}

test.each<Fault>(['throws', 'hangs', 'will not open'])(
  'while the store %s, stats() has the local counts, and marks the rest as unknown',
  async (fault) => {
    const { receiver, url, store, clock } = await counting()
    if (fault !== 'will not open') {
      await receiver.start()
      expect(await receiver.stats()).toMatchObject({ store: 'up', spooled: 0, unsettled: 0, deadLetters: 0 })
    }
    store.fault = fault
    const answers = [post(url, callback.smsDelivery()), post(url, callback.smsDelivery())]
    if (fault === 'hangs') await letTimePass(clock, Promise.all(answers))
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(204)
    const askedMs = clock.now()
    const asked = receiver.stats()
    await letTimePass(clock, asked)
    // No longer than a callback waits for it.
    expect(clock.now() - askedMs).toBeLessThanOrEqual(STORE_TIMEOUT_MS)
    expect(await asked).toMatchObject({
      accepted: 2,
      byType: { 'message.delivered': 2 },
      running: 0,
      store: 'unavailable',
      spooled: 2,
      unsettled: undefined,
      deadLetters: undefined,
    })
    store.fault = 'none'
    await expect
      .poll(() => clock.advance(1_000).then(() => receiver.stats()), { timeout: 30_000, interval: 1 })
      .toMatchObject({ store: 'up', spooled: 0, unsettled: 0 })
  },
)

test('without a spool, too', async () => {
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
