/** A message in the inspector from its send on: what the app recorded of it, and that no end was reported in time. */
import { createClient } from 'messaging-webhooks/client'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import type { EventDetail, EventList, MessageDetail, Overview } from '../../src/inspector/routes.ts'
import { onEachStore } from '../support/each-store.ts'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import { ownFile } from '../support/own-folder.ts'

const PHONE = '254711000042'
const READ = { 'x-may': 'read' }
const SENT_AT = new Date(Date.now() - 60_000)
const SEND = { sentAt: SENT_AT, type: 'transactional', channel: 'sms', campaign: 'spring' }
const META = { order: 4711, status: 'for Erika Mustermann' }

function smsReport(messageId: string, status: string) {
  return { messageId, status, channel: 'sms', network: 'carrier-a', timestamp: Math.floor(Date.now() / 1_000) }
}

/** Asks as the page does. */
async function inspectingSends(options: Parameters<typeof inspecting>[0]) {
  const found = await inspecting(options)
  const message = async (id: string, headers = {}) =>
    as<MessageDetail>((await found.get(`api/messages/${id}`, headers)).body)
  const list = async (query: string, headers = {}) =>
    as<EventList>((await found.get(`api/events?${query}`, headers)).body)
  return { ...found, message, list }
}

describe.each(onEachStore)('on %s', (_, make) => {
  test('a message without reports has a page, and is found by its id', async () => {
    const { receiver, message, list, get } = await inspectingSends({ store: make() })
    const scheduledFor = new Date(Date.now() + 3_600_000)
    await receiver.sends.expect({ ...SEND, scheduledFor, messages: [{ messageId: 'm-1', to: PHONE }] }, { meta: META })
    expect(await list('q=m-1')).toMatchObject({ items: [], message: { messageId: 'm-1' } })
    expect(await list('q=m-2')).not.toHaveProperty('message')
    expect((await get('api/messages/m-2')).status).toBe(404)
    const shown = await message('m-1')
    expect(shown).toMatchObject({
      recipient: PHONE,
      entries: [],
      sent: {
        state: 'waiting',
        wasOverdue: false,
        sentAt: SENT_AT.toISOString(),
        to: PHONE,
        type: 'transactional',
        channel: 'sms',
        campaign: 'spring',
        scheduledFor: scheduledFor.toISOString(),
        overdueAt: new Date(scheduledFor.getTime() + 86_400_000).toISOString(),
      },
    })
    expect(JSON.parse(shown.sent?.meta ?? '')).toEqual(META)
    expect(shown).not.toHaveProperty('latest')
  })

  test('an overdue event follows the reports received by then, and names its message', async () => {
    const { receiver, status, message, get } = await inspectingSends({ store: make() })
    const dispatched: string[] = []
    receiver.onAny(({ type }) => void dispatched.push(type))
    await receiver.start()
    await post(status, smsReport('m-1', 'network_failure'))
    await receiver.sends.expect({ ...SEND, messages: [{ messageId: 'm-1', to: PHONE }] }, { withinMs: 1_000 })
    await expect.poll(() => dispatched.at(-1)).toBe('send.overdue')
    expect(await message('m-1')).toMatchObject({
      sent: { state: 'overdue', wasOverdue: true },
      entries: [
        { event: { type: 'message.failed' } },
        {
          event: { type: 'send.overdue', messageId: 'm-1', channel: 'sms', recipient: PHONE, proof: 'none' },
          why: expect.stringContaining('No final report arrived') as string,
        },
      ],
    })
    expect(as<Overview>((await get('api/overview')).body).attention).toMatchObject([
      { what: 'overdue', title: '1 send overdue' },
    ])
  })

  test('finds an overdue event by its type', async () => {
    const { receiver, list } = await inspectingSends({ store: make(), retry: { initialDelayMs: 600_000 } })
    // Every store has the whole event while it waits for a retry.
    receiver.on('send.overdue', () => Promise.reject(new Error('not today')))
    await receiver.start()
    await receiver.sends.expect({ ...SEND, messages: [{ messageId: 'm-1' }] }, { withinMs: 1_000 })
    const found = async (query: string) => (await list(query)).items.map(({ type, messageId }) => [type, messageId])
    await expect.poll(() => found('outcome=retrying')).toEqual([['send.overdue', 'm-1']])
    expect(await found('type=send.overdue')).toEqual([['send.overdue', 'm-1']])
    expect(await found('type=unrecognized')).toEqual([])
    expect(await receiver.events.list({ types: ['send.overdue'] })).toMatchObject({
      items: [{ type: 'send.overdue', event: { messageId: 'm-1' } }],
    })
  })

  test('an immediate refusal has its reason', async () => {
    const { receiver, message } = await inspectingSends({ store: make() })
    const recipients = [{ code: 12, to: PHONE, messageId: 'm-1' }]
    await receiver.sends.expect({ ...SEND, messages: [], recipients })
    const { sent } = await message('m-1')
    expect(sent).toMatchObject({ state: 'refused', refused: 'unsupported_number' })
    expect(sent).not.toHaveProperty('overdueAt')
  })
})

describe.each(onEachStore)('a customer reports that nothing arrived, on %s', (_, make) => {
  test('finds the sends to their number in any notation, with their outcomes', async () => {
    const { receiver, status, list } = await inspectingSends({ store: make() })
    const dispatched: string[] = []
    receiver.onAny(({ type }) => void dispatched.push(type))
    await receiver.start()
    const at = (seconds: number) => ({ ...SEND, sentAt: new Date(SENT_AT.getTime() + seconds * 1_000) })
    await receiver.sends.expect({ ...at(1), messages: [{ messageId: 'm-1', to: `+${PHONE}` }] })
    await receiver.sends.expect({ ...at(2), messages: [{ messageId: 'm-2', to: PHONE }] })
    await receiver.sends.expect({ ...at(3), messages: [{ messageId: 'other', to: '254711000043' }] })
    const refused = [{ code: 12, to: PHONE, messageId: 'm-4' }]
    await receiver.sends.expect({ ...at(4), messages: [], recipients: refused })
    const intention = await receiver.sends.intend({ to: PHONE, channel: 'sms', reference: 'order 5' })
    await intention.unknown()
    await post(status, smsReport('m-1', 'success'))
    await expect.poll(() => dispatched.toSorted()).toEqual(['message.delivered', 'send.unknown'])
    const sent = [
      { state: 'unknown', to: PHONE, channel: 'sms' },
      { state: 'refused', messageId: 'm-4', refused: 'unsupported_number' },
      { state: 'waiting', messageId: 'm-2', to: PHONE },
      { state: 'ended', messageId: 'm-1', to: `+${PHONE}`, lastReport: 'message.delivered' },
    ]
    for (const written of [PHONE, `+${PHONE}`, '+254 711-000 042', '00254711000042']) {
      const found = await list(`q=${encodeURIComponent(written)}`)
      expect(found.sent).toHaveLength(4)
      expect(found).toMatchObject({ sent })
      expect(found).not.toHaveProperty('sentBefore')
    }
    expect((await list(`q=${PHONE}`, READ)).sent?.map(({ to }) => to?.slice(-2))).toEqual(['42', '42', '42', '42'])
    expect(JSON.stringify(await list(`q=${PHONE}`, READ))).not.toContain(PHONE)
    const to = new Date(SENT_AT.getTime() + 2_000).toISOString()
    expect((await list(`q=${PHONE}&to=${to}`)).sent?.map(({ messageId }) => messageId)).toEqual(['m-1'])
    expect(await list('q=254711')).not.toHaveProperty('sent')
    expect(await list(`q=${PHONE}&channel=chat-app`)).not.toHaveProperty('sent')
    expect((await list(`q=${PHONE}&channel=sms`)).sent).toHaveLength(4)
    expect(await list('')).not.toHaveProperty('sent')
  })
})

test('shows the newest of many sends to one number, and the time to continue from', async () => {
  const { receiver, list } = await inspectingSends({ store: sqliteStore(ownFile()) })
  const messages = Array.from({ length: 45 }, (_, at) => ({ messageId: `m-${at}`, to: PHONE }))
  for (const [at, message] of messages.entries())
    await receiver.sends.expect({ ...SEND, sentAt: new Date(SENT_AT.getTime() + at), messages: [message] })
  const seen = new Set<string | undefined>()
  let to: string | undefined
  for (let pages = 0; pages < 5; pages += 1) {
    const { sent = [], sentBefore } = await list(`q=${PHONE}${to === undefined ? '' : `&to=${to}`}`)
    expect(sent.length).toBeLessThanOrEqual(20)
    for (const { messageId } of sent) seen.add(messageId)
    to = sentBefore
    if (to === undefined) break
  }
  expect(to).toBeUndefined()
  expect(seen.size).toBe(45)
})

test('a re-sent message and its repetition refer to each other', async () => {
  const { receiver, status, message } = await inspectingSends({ retry: { initialDelayMs: 1 } })
  const answers = (messageId: string) => async () =>
    Response.json({ messageData: { messages: 1 }, recipients: [{ messageId, to: PHONE, statusCode: '11' }] })
  const baseUrl = 'http://localhost/api/v1/messaging'
  const options = { baseUrl, project: 'Shop', apiKey: 'key', fetch: answers('m-2'), logger: false } as const
  const { resend } = createClient({ ...options, receiver })
  receiver.on('message.failed', resend({ compose: () => 'Once more', delayMs: 0 }))
  const notAfter = new Date(Date.now() + 3_600_000)
  await receiver.sends.expect({ channel: 'sms', messages: [{ messageId: 'm-1', to: PHONE }] }, { notAfter })
  await post(status, smsReport('m-1', 'network_failure'))
  await expect.poll(async () => (await message('m-1')).sent?.state).toBe('repeated')
  expect((await message('m-1')).sent).toMatchObject({ resentAs: 'm-2' })
  expect((await message('m-2')).sent).not.toHaveProperty('resentAs')
  expect((await message('m-2')).sent).toMatchObject({
    state: 'waiting',
    resendOf: 'm-1',
    notAfter: notAfter.toISOString(),
  })
})

test('a send with an unknown outcome names its recipient, and without `reveal` nothing that the app wrote', async () => {
  const { receiver, list, get } = await inspectingSends({ retry: { attempts: 1 } })
  receiver.on('send.unknown', ({ sent }) => {
    throw new Error(`no one to call for ${JSON.stringify(sent.meta)}`)
  })
  await receiver.start()
  const { unknown } = await receiver.sends.intend({ reference: 'parcel 12', to: PHONE, channel: 'sms', meta: META })
  await unknown()
  const found = async (query: string, headers = {}) => (await list(query, headers)).items
  await expect.poll(async () => (await found('outcome=dead')).length).toBe(1)
  expect(await found('type=send.unknown')).toMatchObject([{ type: 'send.unknown', recipient: PHONE, channel: 'sms' }])
  const [row] = await found('type=send.unknown', READ)
  const masked = JSON.stringify([row, (await get(`api/events/${row?.id ?? ''}`, READ)).body])
  for (const secret of [PHONE, 'Erika', '4711']) expect(masked).not.toContain(secret)
  const event = as<EventDetail>((await get(`api/events/${row?.id ?? ''}`)).body)
  expect(event.payload).toContain('parcel 12')
})

test('without `reveal`, shows neither the recipient nor what the app wrote', async () => {
  const { receiver, message, list, get } = await inspectingSends({ retry: { attempts: 1 } })
  receiver.on('send.overdue', ({ sent }) => {
    throw new Error(`no one to call for ${JSON.stringify(sent.meta)}`)
  })
  await receiver.start()
  const messages = [{ messageId: 'm-1', to: PHONE }]
  await receiver.sends.expect(
    { ...SEND, campaign: `for ${PHONE}`, messages },
    { withinMs: 1, meta: { ...META, [PHONE]: PHONE } },
  )
  const overdueId = async () => (await list('type=send.overdue')).items[0]?.id
  await expect.poll(overdueId).toBeDefined()
  await expect.poll(async () => (await list('outcome=dead')).items.length).toBe(1)
  const masked = await message('m-1', READ)
  expect(masked.sent?.to).toBe('•••42')
  expect(masked.recipient).toBe('•••42')
  const event = as<EventDetail>((await get(`api/events/${(await overdueId()) ?? ''}`, READ)).body)
  const text = JSON.stringify([masked, event, await list('', READ)])
  for (const secret of [PHONE, 'Erika', '4711']) expect(text).not.toContain(secret)
  expect(masked.sent?.meta).toBeUndefined()
})
