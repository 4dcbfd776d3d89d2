import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { receiving, SIGNING_SECRET } from '../support/receiving.ts'

const now = (): number => Math.floor(Date.now() / 1_000)

/** Forms of the header, by their validity. */
const HEADERS = {
  holds: (body: string) => [signCallback(body, SIGNING_SECRET)],
  absent: () => [],
  'has a wrong digest': (body: string) => [signCallback(body, 'another secret')],
  'is malformed': () => ['v1=nothing'],
  'came twice': (body: string) => [signCallback(body, SIGNING_SECRET), signCallback(body, SIGNING_SECRET)],
  'is too old': (body: string) => [signCallback(body, SIGNING_SECRET, { timestamp: now() - 310 })],
  'is from the future': (body: string) => [signCallback(body, SIGNING_SECRET, { timestamp: now() + 310 })],
  'is too old and wrong': (body: string) => [signCallback(body, 'another secret', { timestamp: now() - 310 })],
} as const
type Header = keyof typeof HEADERS

const STALE: readonly Header[] = ['is too old', 'is from the future', 'is too old and wrong']

test('every refusal of an unauthentic callback is the same', async () => {
  const { url } = await receiving()
  const replies = new Set<string>()
  for (const name of ['absent', 'has a wrong digest', 'is malformed', ...STALE] as const) {
    const body = JSON.stringify(callback.smsDelivery({ authKey: 'wrong' }))
    const [value] = HEADERS[name](body)
    const headers = value === undefined ? {} : { 'x-service-signature': value }
    const response = await fetch(url, { method: 'POST', body, headers })
    const shown = [...response.headers].filter(([name]) => name !== 'date')
    replies.add(JSON.stringify([response.status, shown, await response.json()]))
  }
  expect(replies.size).toBe(1)
  expect([...replies][0]).toContain('"error":{"code":"not_authentic"')
})
