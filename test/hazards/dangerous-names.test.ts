/** Names that have a meaning in JavaScript. Numbers refer to the hazard list. */
import { expect, test } from 'vitest'
import { hazards, serve, accepted, unreadable, type HazardCase, type Outcome } from '../support/hazard.ts'
import { postSigned, reportText } from '../support/wire.ts'

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'toJSON',
  'then',
] as const
const DELIVERED = accepted({ type: 'message.delivered', messageId: 'm-1' })

/** A signed report with this JSON text inserted after its opening brace. */
function inserted(name: string, text: string, outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  const body = reportText().replace('{', `{${text},`)
  return { name, send: ({ url }) => postSigned(url, body), outcome, ...more }
}

hazards([
  ...NAMES.flatMap((name) => [
    inserted(`#46 ${name}: a text`, `"${name}":"x"`, DELIVERED),
    inserted(`#46 ${name}: an object`, `"${name}":{"status":"network_failure","polluted":true}`, DELIVERED),
    inserted(`#46 ${name} as the id`, `"id":1`, accepted({ messageId: name }), {
      send: ({ url }) => postSigned(url, reportText({ messageId: name })),
      also: async ({ receiver }) => expect(await receiver.messageState(name)).toMatchObject({ messageId: name }),
    }),
  ]),
  inserted('#46 a report only in __proto__ is ignored', '', unreadable('no_message_id'), {
    send: ({ url }) => postSigned(url, '{"__proto__":{"messageId":"m-1","status":"success"}}'),
  }),
  inserted('#46 statuses only in __proto__ are ignored', '', unreadable('no_message_id'), {
    send: ({ url }) => postSigned(url, '{"__proto__":{"statuses":{"message_id":"m","status":"sent"}}}'),
  }),
  inserted('#46 constructor.prototype', '"constructor":{"prototype":{"polluted":true}}', DELIVERED),
  inserted('#46 __proto__ inside statuses', '', accepted({ type: 'message.sent', messageId: 'm' }), {
    send: ({ url }) =>
      postSigned(url, '{"statuses":{"__proto__":{"message_id":"x"},"message_id":"m","status":"sent"}}'),
  }),
  inserted('#86 a chat-app status constructor', '', unreadable('unknown_status'), {
    send: ({ url }) => postSigned(url, '{"statuses":{"message_id":"m","status":"constructor"}}'),
  }),
  {
    name: '#46 a subscription of type constructor',
    mount: { kind: 'subscription' },
    async send({ url }) {
      await postSigned(url, '{"event":"constructor","constructor":"x","__proto__":"consent"}')
      return postSigned(url, '{"constructor":"x","__proto__":"consent"}')
    },
    // The body's own `__proto__` is ordinary text.
    outcome: accepted({ type: 'subscription.other', word: 'constructor' }, { type: 'subscription.consent' }),
    // The good callback at the end is not a subscription either, and is still dispatched.
  },
])

test('#46 nothing in a body reaches any prototype', async () => {
  const { url, dispatched, receiver } = await serve()
  const before = Object.getOwnPropertyNames(Object.prototype)
  for (const name of NAMES)
    await postSigned(url, `{"${name}":{"polluted":"yes"},"messageId":"${name}","status":"success"}`)
  await receiver.drain()
  expect(dispatched).toHaveLength(NAMES.length)
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
  expect({}).not.toHaveProperty('polluted')
  for (const event of dispatched) {
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype)
    expect(event).not.toHaveProperty('polluted')
    // A dispatcher would await an event that looks like a promise.
    expect(event).not.toHaveProperty('then')
  }
})
