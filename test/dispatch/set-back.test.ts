/** A clock that is set back by less than a second, as one is that is kept right, while a handler runs. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { post, receiving } from '../support/receiving.ts'

test.each(onEachStore)('with %s, events go on to be handed over', async (_name, makeStore) => {
  let behindMs = 0
  const { receiver, url } = await receiving({ clock: () => Date.now() - behindMs, store: makeStore() })
  const handled: string[] = []
  receiver.on('message.*', ({ messageId }) => {
    if (messageId === 'first') behindMs = 900
    handled.push(messageId)
  })
  await post(url, callback.smsDelivery({ messageId: 'first' }))
  await expect.poll(() => handled).toEqual(['first'])
  // Its retries, too, which only a claim finds.
  let failures = 1
  receiver.on('message.*', () => {
    if (failures-- > 0) throw new Error('again')
  })
  for (const messageId of ['second', 'third']) await post(url, callback.smsDelivery({ messageId }))
  await expect.poll(async () => (await receiver.stats()).unsettled, { timeout: 15_000 }).toBe(0)
  expect(new Set(handled)).toEqual(new Set(['first', 'second', 'third']))
})
