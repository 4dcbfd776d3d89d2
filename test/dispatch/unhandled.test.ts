/** An event without a handler is settled and counted; the log reports it with the likely cause. */
import { EVENT_TYPES, type CallbackKind, type EventType, type Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { post, receiving } from '../support/receiving.ts'

async function listening(
  kind?: CallbackKind,
  options: NonNullable<Parameters<typeof receiving>[0]> = {},
  attach: (receiver: Receiver) => unknown = () => {},
) {
  const { logger, lines, of } = logging()
  const { receiver, url } = await receiving({ logger, ...options }, kind === undefined ? {} : { kind })
  attach(receiver)
  const send = async (...bodies: readonly (object | string)[]): Promise<void> => {
    for (const body of bodies) expect((await post(url, body)).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
  }
  return {
    receiver,
    url,
    send,
    of,
    unhandled: () => lines.filter(({ fields }) => String(fields['code']).endsWith('unhandled')),
  }
}

test('logs the first event of a type without a handler, and no other of that type', async () => {
  const { receiver, send, unhandled } = await listening('status', {}, ({ on }) => on('message.failed', () => {}))
  await send(...[1, 2, 3].map(() => callback.smsDelivery()), callback.smsDelivery({ status: 'absent_subscriber' }))
  expect(unhandled()).toMatchObject([
    { level: 'warn', fields: { code: 'event_unhandled', eventType: 'message.delivered' } },
  ])
  expect(unhandled()[0]?.text).toContain("Attach one with `receiver.on('message.delivered', …)`")
  await send(callback.chatApp({ statuses: { status: 'sent' } }))
  expect(unhandled().map(({ fields }) => fields['eventType'])).toEqual(['message.delivered', 'message.sent'])
  expect(await receiver.stats()).toMatchObject({ accepted: 5, unhandled: 4 })
})

test('logs every unrecognized event without a handler, with its problem and id', async () => {
  const { receiver, send, unhandled } = await listening('status')
  await send('[]', '<a/>')
  expect(unhandled()).toMatchObject([
    { level: 'warn', fields: { code: 'unrecognized_unhandled', kind: 'status', problem: 'not_an_object' } },
    { level: 'warn', fields: { code: 'unrecognized_unhandled', kind: 'status', problem: 'not_json' } },
  ])
  for (const { fields, text } of unhandled()) {
    expect(fields['eventId']).toMatch(/^[0-9a-f]{32}$/)
    expect(text).toContain(fields['eventId'])
    expect(text).toContain(fields['problem'])
  }
  expect(await receiver.stats()).toMatchObject({ accepted: 2, unhandled: 2 })
})

test('an event with a handler is neither logged nor counted as unhandled', async () => {
  const { receiver, send, unhandled } = await listening('status', {}, ({ onAny }) => onAny(() => {}))
  await send('[]', callback.smsDelivery())
  expect(unhandled()).toEqual([])
  expect(await receiver.stats()).toMatchObject({ accepted: 2, unhandled: 0 })
})

test.each<readonly [kind: CallbackKind | undefined, body: object | string, says: string]>([
  ['status', callback.payment(), 'Another kind of callback may be registered at this URL'],
  [undefined, { a: 1 }, 'Name the kind of callbacks at this URL'],
  ['status', { ...callback.smsDelivery(), status: 'HELD_BACK', network: 'x' }, '`networks` assigns its network'],
  ['status', '<a/>', 'A proxy may have changed it'],
])('says the likely cause at a URL of %s: %j', async (kind, body, says) => {
  const { send, unhandled } = await listening(kind, { networks: { x: 'carrierA' } })
  await send(body)
  expect(unhandled().map(({ text }) => text)).toEqual([expect.stringContaining(says)])
  expect(unhandled()[0]?.text).not.toContain('HELD_BACK')
})

test('stats().byType has every type, and counts accepted events without duplicates', async () => {
  const { receiver, url } = await listening()
  const report = callback.smsDelivery()
  for (const body of [report, report, callback.smsDelivery({ status: 'network_failure' }), '[]']) await post(url, body)
  const { byType, accepted, duplicates } = await receiver.stats()
  expect({ accepted, duplicates }).toEqual({ accepted: 4, duplicates: 1 })
  const came: readonly EventType[] = ['message.delivered', 'message.failed', 'unrecognized']
  expect(byType).toEqual(Object.fromEntries(EVENT_TYPES.map((type) => [type, came.includes(type) ? 1 : 0])))
})
