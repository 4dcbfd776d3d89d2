import { memoryStore } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'

test('reports a store that fails to close, and closes the receiver anyway', async () => {
  const inner = memoryStore()
  const { receiver, errors } = await receiving({
    store: {
      capabilities: inner.capabilities,
      async open(host) {
        const close = (): never => {
          throw new Error('The store is unavailable.')
        }
        return { ...(await inner.open(host)), close }
      },
    },
  })
  await receiver.start()
  await receiver.close({ deadlineMs: 100 })
  expect(errors).toMatchObject([{ code: 'store_failed', cause: { message: 'The store is unavailable.' } }])
})
