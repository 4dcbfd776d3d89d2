/** An event without a handler is settled and counted; the log reports it with the likely cause. */
import { EVENT_TYPES, type CallbackKind, type EventType, type Receiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { logging } from '../support/logging.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

afterEach(() => void vi.restoreAllMocks())

const NO_KIND = undefined

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

test('the default logger prints at most ten such lines a minute', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const { send } = await listening('status', { logger: undefined })
  await send(...Array.from({ length: 25 }, (_, index) => `[${index}]`))
  const printed = warn.mock.calls
    .map(([line]) => String(line))
    .filter((line) => line.includes('unrecognized_unhandled'))
  expect(printed).toHaveLength(10)
})

describe('the likely cause', () => {
  const REPORT = callback.smsDelivery()
  test.each<readonly [what: string, kind: CallbackKind | undefined, body: object | string, says: string]>([
    [
      'a payment at the URL of reports',
      'status',
      callback.payment(),
      "a payment, but this URL is mounted for delivery reports: register another URL, with `receiver.middleware('payment')`",
    ],
    [
      'a received message at the URL of reports',
      'status',
      callback.received(),
      "a received message, but this URL is mounted for delivery reports: register another URL, with `receiver.middleware('received')`",
    ],
    [
      'a premium callback at the URL of reports',
      'status',
      callback.subscription(),
      "a premium callback, but this URL is mounted for delivery reports: register another URL, with `receiver.middleware('subscription')`",
    ],
    [
      'a report at the URL of received messages',
      'received',
      REPORT,
      'a delivery report, but this URL is mounted for `received`',
    ],
    [
      'a report at the URL of payments',
      'payment',
      callback.chatApp(),
      'a delivery report, but this URL is mounted for `payment`',
    ],
    [
      'a payment at a URL without a kind',
      NO_KIND,
      callback.payment(),
      "mounted without a kind, which reads delivery reports only: mount `receiver.middleware('payment')`",
    ],
    ['something unknown at a URL without a kind', NO_KIND, { a: 1 }, 'Name the kind of callbacks at this URL'],
    [
      'a word that carrier A does not have',
      'status',
      { ...REPORT, status: 'HELD_BACK', network: 'carrier-x' },
      `The word is "HELD_BACK". \`networks\` assigns "carrier-x" to carrier A, which has no such word.`,
    ],
    [
      'a chat-app word in no table',
      'status',
      callback.chatApp({ statuses: { status: 'warned' } }),
      'The word is "warned".',
    ],
    ['no JSON', 'status', '<a/>', 'A proxy may have changed it'],
    [
      'a body without any field that is known',
      'status',
      { a: 1 },
      'Another kind of callback may be registered at this URL',
    ],
  ])('%s', async (_what, kind, body, says) => {
    const { send, unhandled } = await listening(kind, { networks: { 'carrier-x': 'carrierA' } })
    await send(body)
    expect(unhandled().map(({ text }) => text)).toEqual([expect.stringContaining(says)])
  })

  test('a schema that refuses the payload', async () => {
    const validate = () => ({ issues: [{ message: 'no' }] })
    const payment = { '~standard': { version: 1 as const, vendor: 'test', validate } }
    const { send, unhandled } = await listening('payment', { schemas: { payment } }, ({ on }) =>
      on('payment', () => {}),
    )
    await send(callback.payment())
    expect(unhandled()).toMatchObject([{ fields: { problem: 'schema_refused' } }])
    expect(unhandled()[0]?.text).toContain('Compare the payload with your schema')
  })

  test.each([
    ['a long text', 'x'.repeat(41)],
    ['markup', '<b>no</b>'],
    ['a key', AUTH_KEY],
    ['a number', 12_345_678_901],
    ['an object', { a: 1 }],
  ])('does not quote %s in place of a status word or network', async (_what, word) => {
    const { send, unhandled } = await listening('status')
    await send(
      { ...callback.smsDelivery(), status: word, network: word },
      { ...callback.chatApp(), statuses: { message_id: 'm-1', status: word } },
    )
    expect(unhandled().length).toBeGreaterThan(0)
    for (const { text, fields } of unhandled()) {
      const quoted = typeof word === 'object' ? JSON.stringify(word) : String(word)
      expect(`${text} ${JSON.stringify(fields)}`).not.toContain(quoted)
    }
  })
})

test('a late report without a handler explains "late"', async () => {
  const { receiver, send, unhandled } = await listening('status', {}, ({ on }) => on('message.*', () => {}))
  const timestamp = Math.floor(Date.now() / 1_000)
  await send(callback.smsDelivery({ messageId: 'm', timestamp }))
  await send(callback.smsDelivery({ messageId: 'm', status: 'sent', statusCode: 13, timestamp: timestamp - 60 }))
  expect(unhandled()).toMatchObject([{ fields: { eventType: 'late' } }])
  expect(unhandled()[0]?.text).toContain('A report is late if a later state of its message was dispatched')
  expect((await receiver.stats()).byType).toMatchObject({ late: 1, 'message.delivered': 1, 'message.sent': 0 })
})

describe('stats().byType', () => {
  test('has every type, and counts accepted events without duplicates', async () => {
    const { receiver, url } = await listening(NO_KIND, { dispatch: true })
    const report = callback.smsDelivery()
    for (const body of [report, report, callback.smsDelivery({ status: 'network_failure' }), '[]'])
      await post(url, body)
    const { byType, accepted, duplicates } = await receiver.stats()
    expect({ accepted, duplicates }).toEqual({ accepted: 4, duplicates: 1 })
    const came: readonly EventType[] = ['message.delivered', 'message.failed', 'unrecognized']
    expect(byType).toEqual(Object.fromEntries(EVENT_TYPES.map((type) => [type, came.includes(type) ? 1 : 0])))
  })
})
