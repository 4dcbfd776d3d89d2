/** The reason for a refused callback is always a refusal code, whatever a store throws. */
import { ERRORS, memoryStore, MessagingWebhooksError, OptionsError, RefusedError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'

test.each([
  ['an error of its options', new OptionsError('partitions is 3; it was 16.'), 'store_failed'],
  ['an error that is about handlers', new MessagingWebhooksError('dead_letter'), 'store_failed'],
  ['any other error', new Error('The store is unavailable.'), 'store_failed'],
  ['a missing package', new MessagingWebhooksError('peer_missing', 'pg'), 'peer_missing'],
  ['an error of a store', new MessagingWebhooksError('store_newer'), 'store_newer'],
] as const)('%s', async (_, thrown, code) => {
  const store = { ...memoryStore(), open: () => Promise.reject(thrown) }
  const { url, errors } = await receiving({ store }, { kind: 'status' })
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  const refusals = errors.filter((error) => error instanceof RefusedError)
  expect(refusals).toMatchObject([{ code, status: 503 }])
  expect(refusals[0]?.message).toContain(ERRORS[code][0])
  if (code === 'store_failed') expect(refusals[0]?.cause).toBe(thrown)
})
