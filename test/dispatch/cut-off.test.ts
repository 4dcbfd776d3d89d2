/** The log entry for a handler that still runs when the receiver's close deadline is over. */
import { HandlerError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'

test('reports each handler that is cut off, with its event and its running time', async () => {
  const { receiver, url, server } = await receiving()
  const errors: Error[] = []
  receiver.onError((error) => void errors.push(error))
  let isAborted = false
  receiver.onAny(async (_, { signal }) => {
    signal.addEventListener('abort', () => (isAborted = true))
    await new Promise(() => {})
  })
  await post(url, callback.smsDelivery({ messageId: 'm-cut' }))
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  server.closeAllConnections()
  server.close()
  await receiver.close({ deadlineMs: 20 })
  expect(isAborted).toBe(true)
  const [cut] = errors.filter((error) => error instanceof HandlerError)
  expect(cut).toMatchObject({ code: 'handler_cut_off', messageId: 'm-cut', attempt: 1 })
  expect(cut?.message).toMatch(/It had run for \d+ ms\./)
})
