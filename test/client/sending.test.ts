/** Every call against the emulator. Contract, service.md#send-a-message, #authentication. */
import type { Message } from 'messaging-webhooks/client'
import { describe, expect, test } from 'vitest'
import { emulating, SHOP } from '../emulator/emulating.ts'
import { fakeClock } from 'messaging-webhooks/testing'
import { logging } from '../support/logging.ts'
import { ACCEPTED, answering, clientOf, DELIVERED, failing, UNSUPPORTED } from './answering.ts'

test('one number, with every field of a send', async () => {
  const { emulator, endpoint } = await emulating()
  const sent = await clientOf(endpoint).send({
    to: `+${DELIVERED}`,
    message: 'Grüße & 1 + 1 = 2 %',
    from: 'SHOP',
    type: 'transactional',
    campaign: 'Spring',
  })
  expect(sent).toMatchObject({
    kind: 'accepted',
    type: 'transactional',
    channel: 'sms',
    campaign: 'Spring',
    messageCount: 1,
    recipients: [{ outcome: 'accepted', code: 11, status: 'accepted', to: `+${DELIVERED}`, parts: 1 }],
  })
  const [made] = emulator.sends()
  expect(made).toMatchObject({ method: 'POST', httpStatus: 200, project: SHOP })
  expect(sent.messages).toEqual([{ messageId: made?.recipients[0]?.messageId, to: `+${DELIVERED}` }])
})

test('sends the text and `extra` unchanged', async () => {
  const { url, received } = await answering(() => ({ body: ACCEPTED }))
  const message = 'Line 1\nLine 2 "quoted" 😀 €'
  const extra = { template: { name: 'welcome', values: [1, null, true] }, ttl: 60 }
  await clientOf(url).send({ to: DELIVERED, message, extra })
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({
    project: SHOP,
    to: DELIVERED,
    message,
    channel: 'sms',
    ...extra,
  })
  expect(received[0]?.headers).toMatchObject({
    authorization: 'Bearer api-key-of-the-shop',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(received[0]?.body ?? '')),
  })
})

test('sends a single number as a string, also from a list', async () => {
  const { url, received } = await answering(() => ({ body: ACCEPTED }))
  await clientOf(url).send({ to: [DELIVERED], message: 'Hello' })
  await clientOf(url).sendAll({ to: [DELIVERED, UNSUPPORTED], message: 'Hello' }, { batch: 1 })
  expect(received.map(({ body }) => (JSON.parse(body) as { to: unknown }).to)).toEqual([
    DELIVERED,
    DELIVERED,
    UNSUPPORTED,
  ])
})

test('a one-time password is transactional; premium and airtime use their own channels', async () => {
  const { emulator, endpoint } = await emulating()
  const client = clientOf(endpoint)
  expect(await client.otp({ to: DELIVERED, message: 'Your code is 4711.' })).toMatchObject({ type: 'transactional' })
  expect(await client.premium({ to: DELIVERED, message: 'News' })).toMatchObject({
    kind: 'accepted',
    channel: 'premium',
  })
  expect(await client.premiumSubscription({ to: DELIVERED, message: 'News' })).toMatchObject({ kind: 'accepted' })
  expect(await client.airtime({ to: DELIVERED, extra: { amount: 10 } })).toMatchObject({
    kind: 'accepted',
    messageCount: 1,
    type: 'bulk',
  })
  const chat = await client.send({ to: '999300000003', message: 'Hi', channel: 'chat-app' })
  expect(chat.recipients).toMatchObject([{ outcome: 'accepted', code: 13, status: 'queued' }])
  const channels = ['sms', 'premium', 'premium-subscription', 'airtime', 'chat-app']
  expect(emulator.sends().map(({ channel }) => channel)).toEqual(channels)
})

describe('a send for a future time', () => {
  const message: Message = { to: DELIVERED, message: 'Later' }

  test('is scheduled if the service understands the format of its time', async () => {
    const clock = fakeClock()
    const { endpoint } = await emulating({}, { clock })
    const scheduledFor = new Date(clock.now() + 60_000)
    const { logger, lines } = logging()
    const sent = await clientOf(endpoint, { clock, logger }).send({ ...message, scheduledFor })
    expect(sent).toMatchObject({ scheduledFor, recipients: [{ outcome: 'accepted', code: 14 }] })
    expect(lines).toEqual([])
  })

  test('that goes out at once is logged', async () => {
    const { url, received } = await answering(() => ({ body: ACCEPTED }))
    const { logger, lines } = logging()
    const scheduledFor = new Date(Date.now() + 3_600_000)
    const schedule = (at: Date) => ({ at: at.toISOString() })
    await clientOf(url, { logger, schedule }).send({ ...message, scheduledFor })
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ at: scheduledFor.toISOString() })
    expect(lines).toMatchObject([{ level: 'warn', fields: { code: 'schedule_ignored', recipients: 1 } }])
  })
})

test('uses a regenerated key at once when a function reads it', async () => {
  const { emulator, endpoint } = await emulating()
  const client = clientOf(endpoint, { apiKey: async () => emulator.keys().apiKey })
  const old = clientOf(endpoint, { apiKey: emulator.keys().apiKey })
  await client.send({ to: DELIVERED, message: 'Before' })
  emulator.regenerateApiKey()
  expect(await client.send({ to: DELIVERED, message: 'After' })).toMatchObject({ kind: 'accepted' })
  expect(await failing(old.send({ to: DELIVERED, message: 'After' }))).toMatchObject({ code: 'unknown_project' })
})

test.each(['', ' ', '+', 'hello', '+254 711 000000', '0x12', '254711000000\n', '++254711', '254-711', '٢٥٤'])(
  'refuses a recipient that is not a number before any request: %j',
  async (to) => {
    const { url, received } = await answering(() => ({ body: ACCEPTED }))
    const client = clientOf(url)
    for (const given of [to, ['254711000000', to]])
      await expect(client.send({ to: given, message: 'Hello' })).rejects.toThrow(
        /^send: to is .*; expected digits, with or without a plus before them, or a list of at least one such string/,
      )
    expect(received).toEqual([])
  },
)

test('sends to a number once, in whatever notations it is listed', async () => {
  const { emulator, endpoint } = await emulating()
  const client = clientOf(endpoint)
  const to = [DELIVERED, `+${DELIVERED}`, '999100000001', DELIVERED]
  const calls = [
    client.send({ to, message: 'Hello' }),
    client.otp({ to, message: 'Hello' }),
    client.premium({ to, message: 'Hello' }),
    client.premiumSubscription({ to, message: 'Hello' }),
    client.airtime({ to, extra: { amount: 50 } }),
  ]
  for (const { kind, recipients } of await Promise.all(calls))
    expect([kind, recipients.map((each) => each.to)]).toEqual(['accepted', [DELIVERED, '999100000001']])
  for (const { recipients } of emulator.sends()) expect(recipients).toHaveLength(2)
})
