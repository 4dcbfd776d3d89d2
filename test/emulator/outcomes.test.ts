/** Outcomes of messages on each channel: documented numbers one by one, other numbers by the profile. */
import { OUTCOMES } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import type { WebhookEvent } from 'messaging-webhooks'
import { AT_ONCE, AUTH_KEY, collecting, emulating, sendFrom, SHOP } from './emulating.ts'
import { receiving } from '../support/receiving.ts'

/** By hand from the contract, service.md#carrier-a-status-values. */
const CARRIER_A: Readonly<Record<string, readonly number[]>> = {
  success: [0],
  network_failure: [1001],
  delivery_impossible: [1, 5, 11, 13, 21, 31, 32, 34, 99],
  absent_subscriber: [6, 27],
  unknown_error: [9999],
}

const SMS: readonly (readonly [number: string, status: string, network: string, code?: string])[] = [
  ...Object.entries(CARRIER_A).flatMap(([status, codes]) =>
    codes.map((code) => [`99910000${String(code).padStart(4, '0')}`, status, 'carrier-a'] as const),
  ),
  ['999110000001', 'network_failure', 'carrier-a'],
  ['999110000002', 'network_failure', 'carrier-a'],
  ['999200000000', 'delivered', 'carrier-b'],
  ['999200000001', 'failed', 'carrier-b'],
  ['999200000002', 'do_not_disturb', 'carrier-b'],
  ['999400000015', 'device_ack', 'carrier-a', '15'],
  ['999400000017', 'expired', 'carrier-a', '17'],
  ['999400000018', 'stopped_by_user', 'carrier-a', '18'],
  ['999400000019', 'stopped_by_admin', 'carrier-a', '19'],
  ['999400000021', 'delivery_failure', 'carrier-a', '21'],
]

const CHAT_APP: readonly (readonly [number: string, statuses: readonly string[]])[] = [
  ['999300000000', ['sent', 'delivered']],
  ['999300000001', ['sent', 'delivered', 'read']],
  ['999300000002', ['failed']],
  ['999300000003', ['queued', 'sent', 'delivered']],
  ['999300000004', ['sent']],
  ['999300000005', ['sent', 'failed']],
]

const SILENT = ['999400000011', '999400000012', '999400000022', '999400000023']

test('the tables of this test and OUTCOMES name the same numbers, each once', () => {
  const numbers = OUTCOMES.map(({ number }) => number)
  expect(new Set(numbers).size).toBe(numbers.length)
  expect(numbers.toSorted()).toEqual([...SMS.map(([n]) => n), ...CHAT_APP.map(([n]) => n), ...SILENT].toSorted())
})

test('SMS: each documented number gets its documented report, with the fields of the contract', async () => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, idle, emulator } = await emulating({ callbackUrls }, { clock: () => 1_700_000_000_999 })
  const { body } = await sendFrom(endpoint, { to: [...SMS.map(([number]) => number), ...SILENT], type: 'bulk' })
  const { recipients } = body as { recipients: { to: string; messageId: string }[] }
  await idle()
  expect(collected).toHaveLength(SMS.length)
  for (const [number, status, network, code] of SMS) {
    const messageId = recipients.find(({ to }) => to === number)?.messageId
    const found = collected.filter((callback) => callback.body['messageId'] === messageId)
    const isFailureOfB = network === 'carrier-b' && status !== 'delivered'
    expect(found.map(({ body: sent }) => sent)).toEqual([
      {
        project: SHOP,
        messageId,
        channel: 'sms',
        status,
        ...(code === undefined ? {} : { statusCode: code }),
        ...(isFailureOfB ? { description: expect.any(String) as string, status_code: '503' } : {}),
        network,
        type: 'bulkDelivery',
        timestamp: 1_700_000_000,
        authKey: AUTH_KEY,
      },
    ])
  }
  expect(emulator.report().callbacks).toMatchObject({
    sent: SMS.length,
    accepted: SMS.length,
    intact: SMS.length,
    lost: 0,
  })
})

test.each(CHAT_APP)('chat-app: %s is reported %j', async (to, statuses) => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, idle } = await emulating({ callbackUrls, phoneNumber: '999300001234' })
  const { body } = await sendFrom(endpoint, { to, channel: 'chat-app' })
  const [recipient] = (body as { recipients: { messageId: string }[] }).recipients
  await idle()
  expect(collected.map(({ body: sent }) => sent)).toHaveLength(statuses.length)
  for (const status of statuses) {
    const more =
      status === 'failed'
        ? { error: expect.any(String) as string }
        : {
            conversation_id: expect.any(String) as string,
            expiration_timestamp: expect.stringMatching(/^\d{10}$/) as string,
            category: expect.any(String) as string,
          }
    expect(collected.map(({ body: sent }) => sent)).toContainEqual({
      project: SHOP,
      channel: 'chat-app',
      phone_number: '999300001234',
      statuses: { recipient: to, message_id: recipient?.messageId, status, type: 'status', ...more },
      authKey: AUTH_KEY,
    })
  }
})

test('airtime is reported like SMS, premium on the subscription URL', async () => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, idle } = await emulating({ callbackUrls })
  await sendFrom(endpoint, { to: '999100000000', channel: 'airtime', amount: 5 })
  await sendFrom(endpoint, { to: '999100000000', channel: 'premium' })
  await sendFrom(endpoint, { to: '999100000006', channel: 'premium-subscription' })
  await idle()
  const airtime = collected.filter(({ path }) => path === '/status').map(({ body }) => body)
  expect(airtime).toMatchObject([{ channel: 'airtime', status: 'success', type: 'bulkDelivery' }])
  expect(collected).toHaveLength(3)
  const premium = collected.filter(({ path }) => path === '/subscription').map(({ body }) => body)
  expect(premium.map(({ event, phone, status }) => [event, phone, status]).toSorted()).toEqual([
    ['delivery', '999100000000', 'success'],
    ['delivery', '999100000006', 'absent_subscriber'],
  ])
})

describe('undocumented numbers', () => {
  const to = Array.from({ length: 160 }, (_, index) => `2547${String(10_000_000 + index)}`)

  async function statusesOf(network: object, channel = 'sms'): Promise<Record<string, number>> {
    const { collected, callbackUrls } = await collecting()
    const { endpoint, idle } = await emulating(
      { callbackUrls },
      { network: { ...AT_ONCE, ...network }, seed: 'profile' },
    )
    await sendFrom(endpoint, { to, channel })
    await idle()
    const counts: Record<string, number> = {}
    for (const { body } of collected) {
      const { statuses, status, network: carrier } = body as Record<string, string> & { statuses?: { status: string } }
      const word = statuses?.status ?? `${String(carrier)} ${String(status)}`
      counts[word] = (counts[word] ?? 0) + 1
    }
    return counts
  }

  test('belong to the carriers in the shares of the profile', async () => {
    expect(await statusesOf({ carrierAShare: 1 })).toEqual({ 'carrier-a success': 160 })
    expect(await statusesOf({ carrierAShare: 0 })).toEqual({ 'carrier-b delivered': 160 })
    const half = await statusesOf({ carrierAShare: 0.5, names: { carrierA: 'alpha', carrierB: 'beta' } })
    expect(Object.keys(half).toSorted()).toEqual(['alpha success', 'beta delivered'])
    expect(half['alpha success']).toBeGreaterThan(50)
    expect(half['beta delivered']).toBeGreaterThan(50)
  })

  test('fail in the shares of the profile', async () => {
    const on = await statusesOf({
      carrierAShare: 1,
      permanentShare: 0.25,
      transientShare: 0.25,
      unreachableShare: 0.25,
    })
    for (const word of ['success', 'delivery_impossible', 'network_failure', 'absent_subscriber'])
      expect(on[`carrier-a ${word}`], word).toBeGreaterThan(20)
  })

  test('by chat-app are sent, delivered and, in a share, read', async () => {
    const counts = await statusesOf({ readShare: 0.5, permanentShare: 0.1 }, 'chat-app')
    const { sent = 0, delivered = 0, read = 0, failed = 0 } = counts
    expect(sent + failed).toBe(160)
    expect(delivered).toBe(sent)
    expect(read).toBeGreaterThan(40)
    expect(read).toBeLessThan(delivered - 40)
  })
})

const READ = '999300000001'
const DELIVERED = '999100000000'

test('a chat-app by its real name, in answers, reports and errors', async () => {
  const { url, receiver } = await receiving()
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const channels = { 'chat-app': 'telegraph' }
  const { endpoint, idle } = await emulating({ callbackUrls: { status: url } }, { channels })
  const answer = await sendFrom(endpoint, { to: READ, channel: 'telegraph' })
  expect(answer).toMatchObject({ status: 200, body: { messageData: { messages: 1 } } })
  await idle()
  expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  expect(events).toMatchObject([
    { type: 'message.sent', channel: 'telegraph' },
    { type: 'message.delivered', channel: 'telegraph' },
    { type: 'message.read', channel: 'telegraph' },
  ])
  const message =
    'Error. Invalid request. The channel field must be one of sms, telegraph, premium, premium-subscription, airtime.'
  expect(await sendFrom(endpoint, { to: READ, channel: 'chat-app' })).toEqual({
    status: 400,
    body: { messageData: { message } },
  })
})

test('the other channels can be renamed too, even to each other’s names', async () => {
  const { collected, callbackUrls } = await collecting()
  const channels = { premium: 'airtime', airtime: 'top up', 'premium-subscription': 'Club' }
  const { endpoint, idle } = await emulating({ callbackUrls }, { channels })
  await sendFrom(endpoint, { to: DELIVERED, channel: 'airtime' })
  await sendFrom(endpoint, { to: DELIVERED, channel: 'Club' })
  const { body } = await sendFrom(endpoint, { to: DELIVERED, channel: 'top up', amount: 5 })
  expect(body).toMatchObject({ data: { messages: 1 } })
  await idle()
  const channelsSeen = collected.map(({ path, body: sent }) => [path, sent['channel']])
  expect(channelsSeen.toSorted()).toEqual([
    ['/status', 'top up'],
    ['/subscription', undefined],
    ['/subscription', undefined],
  ])
})
