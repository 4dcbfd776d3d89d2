/** `receiver.sends.expect`: its data comes with the reports, and messages without a report become overdue. */
import { inspect } from 'node:util'
import { memoryStore, OptionsError, RetryLater, type ReportEvent, type WebhookEvent } from 'messaging-webhooks'
import type { OverdueEvent } from '../../src/public/events.ts'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../support/each-store.ts'
import { post } from '../support/receiving.ts'
import { expecting } from './expecting.ts'

const HOUR_MS = 3_600_000

const at = (clock: { now(): number }, ms = 0): Date => new Date(clock.now() + ms)

function overdueIn(events: readonly WebhookEvent[]): readonly OverdueEvent[] {
  return events.filter((event) => event.type === 'send.overdue')
}

describe.each(onEachStore)('%s', (_, makeStore) => {
  test('every report includes its send: on time, late, as a dead letter, and in the state of its message', async () => {
    const { receiver, url, clock, events, pass } = await expecting({ store: makeStore(), retry: { attempts: 1 } })
    const takeOff = receiver.on('message.delivered', () => Promise.reject(new Error('not today')))
    const sentAt = at(clock)
    const sent = {
      sentAt,
      type: 'transactional',
      channel: 'sms',
      campaign: 'spring',
      messages: [{ messageId: 'm', to: '+254711' }],
    }
    expect(await receiver.sends.expect(sent, { meta: { order: 7 } })).toEqual({ expected: 1, known: 0 })
    expect(await receiver.sends.expect(sent, { meta: { order: 8 } })).toEqual({ expected: 0, known: 1 })
    const timestamp = Math.floor(clock.now() / 1_000)
    await post(url, callback.smsDelivery({ messageId: 'm', status: 'success', timestamp }))
    await post(url, callback.smsDelivery({ messageId: 'stranger', status: 'success', timestamp }))
    await pass(0, () => events.length === 2)
    takeOff()
    await post(
      url,
      callback.smsDelivery({ messageId: 'm', status: 'queued', statusCode: '13', timestamp: timestamp - 5 }),
    )
    await pass(0, () => events.length === 3)
    const details = {
      messageId: 'm',
      to: '+254711',
      type: 'transactional',
      channel: 'sms',
      campaign: 'spring',
      meta: { order: 7 },
      sentAt,
      overdueAt: new Date(sentAt.getTime() + 24 * HOUR_MS),
    }
    const byId = new Map(events.map((event) => ['messageId' in event ? `${event.type} ${event.messageId}` : '', event]))
    expect(byId.get('message.delivered m')).toMatchObject({ sent: details })
    expect(byId.get('message.delivered stranger')).not.toHaveProperty('sent')
    expect((byId.get('late m') as { readonly report: ReportEvent } | undefined)?.report).toMatchObject({
      sent: details,
    })
    const letters = (await receiver.deadLetters.list()).items
    expect(letters.find(({ event }) => 'messageId' in event && event.messageId === 'm')?.event).toMatchObject({
      sent: details,
    })
    expect(await receiver.messageState('m')).toMatchObject({ type: 'message.delivered', sent: details })
    for (const { id } of letters) await receiver.deadLetters.replay(id)
    await pass(0, () => events.filter(({ type }) => type === 'message.delivered').length >= 3)
    const again = events.filter((event) => event.type === 'message.delivered' && event.messageId === 'm')
    expect(again).toHaveLength(2)
    expect(again.every((event) => 'sent' in event)).toBe(true)
  })

  test('reports a message without an end once, and marks later reports as overdue', async () => {
    const { receiver, url, clock, events, pass } = await expecting({ store: makeStore() })
    const reports: string[] = []
    receiver.on('message.*', ({ type }) => void reports.push(type))
    const messages = ['silent', 'sent', 'delivered', 'later'].map((messageId) => ({ messageId, to: '254711' }))
    await receiver.sends.expect({ sentAt: at(clock), channel: 'sms', messages }, { withinMs: HOUR_MS, meta: 'mine' })
    await post(url, callback.smsDelivery({ messageId: 'sent', status: 'queued', statusCode: '13' }))
    await post(url, callback.smsDelivery({ messageId: 'delivered', status: 'success' }))
    // Before an hour passes, which would end the time limit of what is asked of the store.
    await expect.poll(() => reports.length, { timeout: 30_000 }).toBe(2)
    await pass(HOUR_MS - 10)
    expect(overdueIn(events)).toEqual([])
    await pass(20, () => overdueIn(events).length === 3)
    expect(
      overdueIn(events)
        .map(({ messageId }) => messageId)
        .toSorted(),
    ).toEqual(['later', 'sent', 'silent'])
    const [overdue] = overdueIn(events).filter(({ messageId }) => messageId === 'silent')
    expect(overdue).toMatchObject({
      proof: 'none',
      timestampSource: 'clock',
      channel: 'sms',
      sent: { to: '254711', meta: 'mine' },
    })
    expect(overdue?.occurredAt?.getTime()).toBe(Math.floor((overdue?.sent.overdueAt.getTime() ?? 0) / 1_000) * 1_000)
    await post(url, callback.smsDelivery({ messageId: 'later', status: 'success' }), {
      timestamp: Math.floor(clock.now() / 1_000),
    })
    await pass(48 * HOUR_MS, () => reports.length === 3)
    expect(overdueIn(events)).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({ type: 'message.delivered', messageId: 'later', wasOverdue: true })
    expect(reports).not.toContain('send.overdue')
    expect(await receiver.drain()).toBe(true)
  })

  test('retries, dead-letters and replays an overdue event as any other event', async () => {
    const store = makeStore()
    const { receiver, clock, pass } = await expecting({ store, retry: { attempts: 2, initialDelayMs: 1 } })
    let isBroken = true
    const attempts: number[] = []
    receiver.on('send.overdue', (_event, { attempt }) => {
      attempts.push(attempt)
      if (isBroken) throw new Error('no')
    })
    await receiver.sends.expect({ sentAt: at(clock), messages: [{ messageId: 'm' }] }, { withinMs: 1_000 })
    await pass(1_000, () => attempts.length === 2)
    await expect.poll(async () => (await receiver.deadLetters.list()).items.length).toBe(1)
    const [letter] = (await receiver.deadLetters.list()).items
    expect(letter?.event).toMatchObject({ type: 'send.overdue', messageId: 'm' })
    // Everything that the store indexes.
    const listed = await receiver.events.list({ types: ['send.overdue'] })
    expect(listed.items).toMatchObject([{ type: 'send.overdue', state: 'dead' }])
    expect((await receiver.events.list({ types: ['send.unknown', 'message.failed'] })).items).toEqual([])
    isBroken = false
    await receiver.deadLetters.replay(letter?.id ?? '')
    await pass(0, () => attempts.length === 3)
  })

  test('lists messages without an end, and the totals of a period', async () => {
    const { receiver, url, clock, events, pass } = await expecting({ store: makeStore() })
    const sentAt = at(clock)
    const messages = ['a', 'b', 'c', 'd', 'e', 'f', 'h', 'i'].map((messageId) => ({ messageId }))
    const recipients = [
      { code: 11, to: '1', messageId: 'a' },
      // The same number twice in one send.
      { code: 12, to: '2' },
      { code: 12, to: '2' },
      { code: 22, to: '3', messageId: 'refused' },
    ]
    await receiver.sends.expect({ sentAt, messages, recipients }, { withinMs: HOUR_MS })
    await receiver.sends.expect({ sentAt: at(clock, 60_000), messages: [{ messageId: 'next' }] })
    // A temporary failure is not an end for a message that the service itself retries.
    await receiver.sends.expect(
      { sentAt, type: 'transactional', messages: [{ messageId: 'g' }] },
      { withinMs: HOUR_MS },
    )
    await post(url, callback.smsDelivery({ messageId: 'g', status: 'network_failure' }))
    await post(url, callback.smsDelivery({ messageId: 'h', status: 'success' }))
    await post(url, callback.smsDelivery({ messageId: 'h', status: 'delivery_impossible' }))
    // One part of a long message expired, another arrived.
    await post(url, callback.smsDelivery({ messageId: 'i', status: 'expired', network: 'carrier-a' }))
    await post(url, callback.smsDelivery({ messageId: 'i', status: 'success' }))
    await post(url, callback.smsDelivery({ messageId: 'a', status: 'success' }))
    await post(url, callback.smsDelivery({ messageId: 'b', status: 'delivery_impossible' }))
    await post(url, callback.smsDelivery({ messageId: 'c', status: 'network_failure' }))
    await post(url, callback.chatApp({ statuses: { message_id: 'd', status: 'read' } }))
    await pass(2_000, () => events.length === 9)
    const period = { from: sentAt, to: new Date(sentAt.getTime() + 60_000) }
    const failed = { delivery_impossible: 1, network_failure: 1 }
    const ended = { sent: 12, resent: 0, delivered: 1, read: 1, contradictory: 2, failed }
    const refused = { unsupported_number: 2, insufficient_balance: 1 }
    expect(await receiver.sends.account(period)).toEqual({
      ...ended,
      refused,
      overdue: 0,
      waiting: 3,
      unreported: 0,
      unknown: 0,
    })
    await pass(HOUR_MS, () => overdueIn(events).length === 3)
    expect(await receiver.sends.account(period)).toEqual({
      ...ended,
      refused,
      overdue: 3,
      waiting: 0,
      unreported: 0,
      unknown: 0,
    })
    const open: string[] = []
    for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await receiver.sends.outstanding({ limit: 2, after, before: period.to })
      open.push(
        ...page.items.map(
          ({ messageId, lastReport = 'none', wasOverdue }) => `${messageId} ${lastReport} ${wasOverdue}`,
        ),
      )
      after = page.next
    }
    const iterated: string[] = []
    for await (const { messageId } of receiver.sends.outstanding({ limit: 2, before: period.to }))
      iterated.push(messageId)
    expect(iterated.toSorted()).toEqual(['e', 'f', 'g'])
    expect(open.toSorted()).toEqual(['e none true', 'f none true', 'g message.failed true'])
    expect((await receiver.sends.outstanding()).items.map(({ messageId }) => messageId)).toContain('next')
  })

  test('a handler that needs the send of a report waits for its record', async () => {
    const { receiver, url, clock, events, pass } = await expecting({ store: makeStore() })
    const found: unknown[] = []
    receiver.on('message.delivered', ({ sent }) => {
      if (sent === undefined) throw new RetryLater(1_000)
      found.push(sent.meta)
    })
    await post(url, callback.smsDelivery({ messageId: 'm', status: 'success' }))
    await pass(0, () => events.length === 1)
    expect(events[0]).not.toHaveProperty('sent')
    await receiver.sends.expect({ sentAt: at(clock), messages: [{ messageId: 'm' }] }, { meta: 'mine' })
    await pass(1_000, () => found.length === 1)
    expect(found).toEqual(['mine'])
  })

  test('erases sends to a person, and none of them becomes overdue', async () => {
    const { receiver, clock, events, pass } = await expecting({ store: makeStore() })
    const messages = [
      { messageId: 'a', to: '+254 711 000 001' },
      { messageId: 'b', to: '+254 711 000 002' },
    ]
    await receiver.sends.expect({ sentAt: at(clock), messages }, { withinMs: HOUR_MS })
    expect(await receiver.forget({ recipient: '254711000001' })).toMatchObject({ messageStates: 1 })
    await pass(HOUR_MS, () => overdueIn(events).length === 1)
    await pass(HOUR_MS)
    expect(overdueIn(events).map(({ messageId }) => messageId)).toEqual(['b'])
    // Its synthetic event is erased with the message.
    expect(await receiver.forget({ recipient: '254711000002' })).toMatchObject({ messageStates: 1 })
    expect((await receiver.sends.outstanding()).items).toEqual([])
  })
})

test('expects a scheduled send from its time on, and gives a chat-app more time', async () => {
  const { receiver, clock, events, pass } = await expecting()
  const scheduledFor = at(clock, 100 * HOUR_MS)
  await receiver.sends.expect({ sentAt: at(clock), scheduledFor, messages: [{ messageId: 'planned' }] })
  await receiver.sends.expect({ channel: 'chatty', messages: [{ messageId: 'chat' }] })
  await pass(71 * HOUR_MS)
  expect(overdueIn(events)).toEqual([])
  await pass(2 * HOUR_MS, () => overdueIn(events).length === 1)
  await pass(52 * HOUR_MS, () => overdueIn(events).length === 2)
  expect(overdueIn(events).map(({ messageId, sent }) => [messageId, sent.scheduledFor])).toEqual([
    ['chat', undefined],
    ['planned', scheduledFor],
  ])
})

test('refuses invalid values', async () => {
  const { receiver } = await expecting()
  const messages = [{ messageId: 'm' }]
  await expect(receiver.sends.expect({ messages }, { meta: 'x'.repeat(4_095) })).rejects.toThrow(/4097 bytes/)
  await expect(receiver.sends.expect({ messages }, { meta: 1n })).rejects.toThrow(/cannot be written as JSON/)
  await expect(receiver.sends.expect({ messages }, { withinMs: 0 })).rejects.toThrow(/withinMs is 0/)
  await expect(receiver.sends.expect({ messages: [{ messageId: '' }] })).rejects.toThrow(/messageId/)
  const scheduledFor = new Date(Date.now() * 1_000)
  await expect(receiver.sends.expect({ messages, scheduledFor })).rejects.toThrow(/more than a year/)
  await expect(receiver.sends.account({ from: new Date(NaN), to: new Date() })).rejects.toThrow(/from is/)
  await expect(receiver.sends.outstanding({ limit: 0 })).rejects.toThrow(/limit is 0/)
})

test('an overdue event names the only named project, as reports do', async () => {
  const { receiver, events, pass } = await expecting({ projects: { One: { authKey: 'a', signingSecret: 's' } } })
  await receiver.sends.expect({ messages: [{ messageId: 'm' }] }, { withinMs: 1_000 })
  await receiver.sends.intend({ answerWithinMs: 1_000 })
  await pass(1_000, () => events.length === 2)
  expect(events.map(({ type, project }) => `${type} of ${project}`).toSorted()).toEqual([
    'send.overdue of One',
    'send.unknown of One',
  ])
  expect((await receiver.sends.outstanding()).items).toMatchObject([{ messageId: 'm', project: 'One' }])
})

test('reports a message that became overdue while the memory store was full, once there is capacity', async () => {
  const { receiver, url, events, pass } = await expecting({ store: memoryStore({ maxEvents: 2 }) })
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  receiver.on('message.queued', () => held)
  const messages = ['a', 'b', 'c', 'd'].map((messageId) => ({ messageId }))
  await receiver.sends.expect({ messages }, { withinMs: 1_000 })
  for (const messageId of ['held', 'too'])
    await post(url, callback.smsDelivery({ messageId, status: 'queued', statusCode: '13' }))
  await pass(10_000)
  expect(overdueIn(events)).toEqual([])
  release()
  for (let looks = 0; overdueIn(events).length < messages.length && looks < 10; looks += 1) await pass(5_000)
  expect(
    overdueIn(events)
      .map(({ messageId }) => messageId)
      .toSorted(),
  ).toEqual(['a', 'b', 'c', 'd'])
})

test('keeps sends of projects apart', async () => {
  const pair = { authKey: 'a', signingSecret: 's' }
  const several = await expecting({ projects: { One: pair, Two: { authKey: 'b', signingSecret: 't' } } })
  const sent = { messages: [{ messageId: 'm' }] }
  await expect(several.receiver.sends.expect(sent)).rejects.toMatchObject({ code: 'project_required' })
  expect(await several.receiver.sends.expect(sent, { project: 'One' })).toEqual({ expected: 1, known: 0 })
  expect(await several.receiver.sends.expect(sent, { project: 'Two' })).toEqual({ expected: 1, known: 0 })
})

test('does not record what `schemas.meta` refuses, and the error does not quote it', async () => {
  const { receiver } = await expecting({ schemas: { meta: z.object({ order: z.number().max(9) }) } })
  const messages = [{ messageId: 'm' }]
  const refused = { order: 254711000001 }
  for (const attempt of [
    receiver.sends.expect({ messages }, { meta: refused }),
    receiver.sends.intend({ meta: refused }),
    receiver.sends.intendEach(['254711000001'], { meta: refused }),
  ]) {
    const error: unknown = await attempt.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OptionsError)
    expect(inspect(error)).toMatch(/`schemas.meta` refused meta\.order\./)
    expect(inspect(error)).not.toMatch(/254711000001/)
  }
  expect((await receiver.sends.outstanding()).items).toEqual([])
  expect(await receiver.sends.expect({ messages }, { meta: { order: 7 } })).toEqual({ expected: 1, known: 0 })
})

test('a meta schema that throws refuses the send, and its error is not passed on', async () => {
  const meta = z.unknown().refine((value) => {
    throw new Error(`no page for ${JSON.stringify(value)}`)
  })
  const { receiver } = await expecting({ schemas: { meta } })
  const error: unknown = await receiver.sends.intend({ meta: '254711000001' }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(OptionsError)
  expect(inspect(error)).toMatch(/`schemas.meta` threw or timed out/)
  expect(inspect(error)).not.toMatch(/254711000001/)
})
