/** A callback whose `project` is the authKey itself, as if pasted into the wrong field. */
import { inspect } from 'node:util'
import { memoryStore, type WebhookEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { AUTH_KEY, receiving } from '../support/receiving.ts'
import { postUnsigned, reportText } from '../support/wire.ts'

test('the key is neither in the event nor in the store, and a repetition is a duplicate', async () => {
  const store = memoryStore()
  const { receiver, url } = await receiving({ store })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const body = reportText({ project: AUTH_KEY, authKey: AUTH_KEY })
  expect(await postUnsigned(url, body)).toBe(204)
  expect(await postUnsigned(url, body)).toBe(204)
  await receiver.drain()
  const [event] = events
  expect(events).toHaveLength(1)
  expect(event?.project).toBe('*'.repeat(AUTH_KEY.length))
  const { items } = await receiver.events.list()
  const state = await receiver.messageState('m-1')
  for (const shown of [event, items, state]) {
    expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain(AUTH_KEY)
    expect(JSON.stringify(shown)).not.toContain(AUTH_KEY)
  }
})
