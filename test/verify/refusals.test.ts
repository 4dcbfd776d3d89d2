/** The answer is the same for all refusals; vectors/receiver.test.ts has the reason of each under every policy. */
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { receiving, SIGNING_SECRET } from '../support/receiving.ts'

const wrong = (body: string): string => signCallback(body, 'another secret')

test('every refusal of an unauthentic callback is the same', async () => {
  const { url } = await receiving()
  const now = Math.floor(Date.now() / 1_000)
  const at = (secret: string, timestamp: number) => (body: string) => signCallback(body, secret, { timestamp })
  const replies = new Set<string>()
  for (const signature of [
    undefined,
    wrong,
    () => 'v1=nothing',
    at(SIGNING_SECRET, now - 310),
    at(SIGNING_SECRET, now + 310),
    at('another secret', now - 310),
  ]) {
    const body = JSON.stringify(callback.smsDelivery({ authKey: 'wrong' }))
    const headers = signature === undefined ? {} : { 'x-service-signature': signature(body) }
    const response = await fetch(url, { method: 'POST', body, headers })
    const shown = [...response.headers].filter(([name]) => name !== 'date')
    replies.add(JSON.stringify([response.status, shown, await response.json()]))
  }
  expect(replies.size).toBe(1)
  expect([...replies][0]).toContain('"error":{"code":"not_authentic"')
})
