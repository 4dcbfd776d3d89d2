/** A key that another field quotes, in any JSON spelling, reaches no handler. */
import { createReceiver, type WebhookEvent } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'

const KEY = 'Zm9v/YmFy"YmF6cXV4'

test.each([
  ['as it is', JSON.stringify(KEY)],
  ['with its slash escaped, as PHP writes it', JSON.stringify(KEY).replaceAll('/', '\\/')],
  [
    'in escapes of four digits',
    `"${KEY.replaceAll(/./g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`,
  ],
])('%s', async (_, quoted) => {
  const receiver = createReceiver({ credentials: { authKey: KEY }, logger: false })
  onTestFinished(() => receiver.close())
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const inside = `"https:\\/\\/app.example\\/${quoted.slice(1, -1)}?a=1"`
  const body = `{"messageId":"m","status":"success","authKey":${quoted},"url":${inside},"note":"a\\tb"}`
  expect(
    (await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body: Buffer.from(body) })).status,
  ).toBe(204)
  await receiver.drain()
  const [event] = events
  expect(JSON.stringify(event)).not.toContain(JSON.stringify(KEY).slice(1, -1))
  expect(JSON.stringify(JSON.parse(event?.raw.toString() ?? ''))).not.toContain(JSON.stringify(KEY).slice(1, -1))
  expect(event?.raw).toHaveLength(body.length)
  expect(event?.payload).toMatchObject({ messageId: 'm', status: 'success', note: 'a\tb' })
})
