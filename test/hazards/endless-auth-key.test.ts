/** Signed bodies with an authKey whose value does not end: what a cut or a bad escape leaves. */
import { createReceiver, type WebhookEvent } from 'messaging-webhooks'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'

const PAIR = { authKey: 'the-live-key-with-a-"-in-it', signingSecret: 'the-signing-secret' }
const KEY = JSON.stringify(PAIR.authKey).slice(1, -1)
const AT_SECONDS = 1_760_000_000

/** What handlers get of these bodies, all signed in one second. */
async function eventsOf(bodies: readonly string[]): Promise<readonly WebhookEvent[]> {
  const receiver = createReceiver({ credentials: PAIR, logger: false, clock: () => AT_SECONDS * 1_000 })
  onTestFinished(() => receiver.close())
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  for (const body of bodies) {
    const headers = { 'x-service-signature': signCallback(body, PAIR.signingSecret, { timestamp: AT_SECONDS }) }
    const { status } = await receiver.receive({ kind: 'payment', method: 'POST', headers, body: Buffer.from(body) })
    expect(status).toBe(204)
  }
  await receiver.drain()
  return events
}

const rest = (id: number): string =>
  `, 'amount': 100, 'reference': 'payment ${id} of a customer', 'note': '${'x'.repeat(100)}'}`

test.each([
  ['a text', (id: number) => `{"authKey":"${KEY}${rest(id)}`],
  ['a text in a list', (id: number) => `{"authKey":["${KEY}${rest(id)}`],
  ['an object', (id: number) => `{"authKey":{"key":"${KEY}","reference":"payment ${id}"`],
  ['a list', (id: number) => `{"authKey":[ "${KEY}", "payment ${id} of a customer", 12`],
  ['nothing', (id: number) => `{"amount":100,"reference":"payment ${id} of a customer","authKey":`],
])('%s that does not end: each body is an event, and the key is masked', async (_, body) => {
  const bodies = [body(1), body(2), body(1)]
  const events = await eventsOf(bodies)
  expect(events).toMatchObject([
    { type: 'unrecognized', problem: 'not_json' },
    { type: 'unrecognized', problem: 'not_json' },
  ])
  for (const [nth, { raw }] of events.entries()) {
    expect(raw).toHaveLength(Buffer.byteLength(bodies[nth] ?? ''))
    expect(raw.toString()).not.toContain(KEY)
    expect(raw.toString()).not.toContain(PAIR.authKey)
  }
})

test('what follows the length of a key stays readable', async () => {
  const [event] = await eventsOf([`{"authKey":"${'k'.repeat(64)}${rest(1)}`])
  expect(event?.raw.toString()).toBe(`{"authKey":"${'*'.repeat(64)}${rest(1)}`)
})

test('an authKey that is not a string tells two bodies apart', async () => {
  const events = await eventsOf([1, 2].map((id) => `{"authKey":{"reference":"payment ${id}"},"amount":100}`))
  expect(events).toHaveLength(2)
})
