import fc from 'fast-check'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { receiving, post } from '../support/receiving.ts'

const SENT_AT = Math.floor(Date.now() / 1_000)
const CHAIN = ['sent', 'delivered', 'read'] as const

test('any permutation with any duplication of a chat-app message arrives in the canonical sequence, once each', async () => {
  const { receiver, url } = await receiving({ ordering: { gapTimeoutMs: 5_000 } })
  const handed = new Map<string, (string | undefined)[]>()
  receiver.on('message.*', ({ messageId, status }) => {
    handed.set(messageId, [...(handed.get(messageId) ?? []), status])
  })
  receiver.on(
    'late',
    ({ report: late }) => void handed.set(late.messageId, [...(handed.get(late.messageId) ?? []), 'late']),
  )
  let messages = 0
  const arrivals = fc
    .array(fc.constantFrom(...CHAIN), { maxLength: 4 })
    .chain((repeated) => fc.shuffledSubarray([...CHAIN, ...repeated], { minLength: 3 + repeated.length }))
  await fc.assert(
    fc.asyncProperty(arrivals, async (statuses) => {
      const messageId = `message-${(messages += 1)}`
      for (const status of statuses) {
        const body = callback.chatApp({ statuses: { message_id: messageId, status, conversation_id: 'c' } })
        expect(await post(url, body, { timestamp: SENT_AT })).toMatchObject({ status: 204 })
      }
      await receiver.drain()
      expect(handed.get(messageId)).toEqual(CHAIN)
    }),
    { numRuns: 60 },
  )
})
