import { memoryStore } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'

test('a store that cannot be closed is reported, and the receiver is closed all the same', async () => {
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
