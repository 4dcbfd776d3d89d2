/** A send is recorded before it is made: its outcome is known, or reported as unknown. */
import type { Store, WebhookEvent } from 'messaging-webhooks'
import type { UnknownSendEvent } from '../../src/public/events.ts'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { post } from '../support/receiving.ts'
import { storeAround } from '../support/store-around.ts'
import { expecting } from './expecting.ts'

const HOUR_MS = 3_600_000

function unknownIn(events: readonly WebhookEvent[]): readonly UnknownSendEvent[] {
  return events.filter((event) => event.type === 'send.unknown')
}

/** A store that fails a number of times with commands of a name, from a given call on. */
function failing(inner: Store, name: 'expect' | 'endSend', from: number, times = Infinity): Store {
  let calls = 0
  return storeAround(inner, {
    run(commands, go) {
      if (commands[0]?.do !== name) return go()
      calls += 1
      if (calls >= from && calls < from + times) throw new Error('The store is unavailable.')
      return go()
    },
  })
}

const everything = { from: new Date(0), to: new Date(8e15) }

describe.each(onEachStore)('%s', (_, makeStore) => {
  test('only a report that overtakes the answer of its send waits for it', async () => {
    const { receiver, url, events, pass } = await expecting({ store: makeStore() })
    const report = async (messageId: string) => post(url, callback.smsDelivery({ messageId, status: 'success' }))
    const seen = () => events.map((event) => ('messageId' in event ? event.messageId : event.type))
    await report('before')
    await pass(0, () => events.length === 1)
    const { sent } = await receiver.sends.intend({ to: '254711000001', meta: 'mine' })
    await report('a')
    await report('stranger')
    await pass(1_000)
    expect(seen()).toEqual(['before'])
    await sent({ messages: [{ messageId: 'a' }] })
    await pass(0, () => events.length === 2)
    expect(events[1]).toMatchObject({ messageId: 'a', sent: { meta: 'mine' } })
    await report('after')
    await pass(0, () => events.length === 3)
    await pass(3_000)
    expect(seen()).toEqual(['before', 'a', 'after'])
    await pass(1_100, () => events.length === 4)
    expect(seen()).toEqual(['before', 'a', 'after', 'stranger'])
  })

  test('reports wait no longer than the answer may take', async () => {
    const forgotten = await expecting({ store: makeStore() })
    await forgotten.receiver.sends.intend({ answerWithinMs: 2_000 })
    await forgotten.pass(2_000, () => forgotten.events.length === 1)
    await post(forgotten.url, callback.smsDelivery({ messageId: 'a', status: 'success' }))
    await forgotten.pass(0, () => forgotten.events.length === 2)

    const ended = await expecting({ store: makeStore() })
    const { notSent } = await ended.receiver.sends.intend()
    const { unknown } = await ended.receiver.sends.intend()
    await notSent()
    await unknown()
    await post(ended.url, callback.smsDelivery({ messageId: 'a', status: 'success' }))
    await ended.pass(0, () => ended.events.length === 2)
  })

  test('expects answered messages under the reference of their send, and reports none as unknown', async () => {
    const { receiver, url, clock, events, pass } = await expecting({ store: makeStore() })
    const { reference, sent } = await receiver.sends.intend({
      reference: 'order 7',
      to: ['254711000001', '254711000002', '254711000003'],
      type: 'transactional',
      channel: 'sms',
      campaign: 'spring',
      meta: { order: 7 },
      withinMs: HOUR_MS,
    })
    expect(reference).toBe('order 7')
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 3, waiting: 3, unknown: 0 })
    expect((await receiver.sends.outstanding()).items).toEqual([])
    await clock.advance(700)
    const sentAt = new Date(clock.now())
    const answer = {
      sentAt,
      messages: [{ messageId: 'a', to: '254711000001' }, { messageId: 'b' }],
      recipients: [
        { code: 11, messageId: 'a', parts: 3 },
        { code: 11, messageId: 'b', parts: 1 },
        { code: 12, to: '254711000003' },
      ],
    }
    expect(await sent(answer)).toEqual({ expected: 3, known: 0 })
    expect(await sent(answer)).toEqual({ expected: 0, known: 3 })
    await post(url, callback.smsDelivery({ messageId: 'a', status: 'success' }))
    await pass(0, () => events.length === 1)
    const details = {
      messageId: 'a',
      reference: 'order 7',
      to: '254711000001',
      type: 'transactional',
      channel: 'sms',
      campaign: 'spring',
      meta: { order: 7 },
      sentAt,
      overdueAt: new Date(sentAt.getTime() + HOUR_MS),
      parts: 3,
    }
    expect(events[0]).toMatchObject({ type: 'message.delivered', sent: details })
    const { items } = await receiver.sends.outstanding()
    expect(items).toMatchObject([{ messageId: 'b', reference: 'order 7' }])
    expect(items[0]).not.toHaveProperty('parts')
    const account = { sent: 3, delivered: 1, waiting: 1, unknown: 0, refused: { unsupported_number: 1 } }
    expect(await receiver.sends.account(everything)).toMatchObject(account)
    await pass(300_000)
    expect(unknownIn(events)).toEqual([])
    await pass(HOUR_MS, () => events.some(({ type }) => type === 'send.overdue'))
    await expect(receiver.sends.intend({ reference: 'order 7' })).rejects.toMatchObject({ code: 'send_repeated' })
    expect(await receiver.sends.account(everything)).toMatchObject({ ...account, waiting: 0, overdue: 1 })
  })

  test('reports a send without an answer once, and accepts its late answer', async () => {
    const { receiver, clock, events, pass } = await expecting({ store: makeStore() })
    const ofAll: string[] = []
    receiver.on('message.*', ({ type }) => void ofAll.push(type))
    const sentAt = new Date(clock.now())
    const scheduledFor = new Date(clock.now() + HOUR_MS)
    const intention = await receiver.sends.intend({ to: '254711000001', channel: 'sms', meta: 'mine', scheduledFor })
    await receiver.sends.intend({ reference: 'another', recipients: 5, answerWithinMs: 400_000 })
    await pass(119_000)
    expect(events).toEqual([])
    await pass(1_500, () => events.length === 1)
    const [unknown] = unknownIn(events)
    const { reference } = intention
    expect(unknown).toMatchObject({ reference, channel: 'sms', proof: 'none', timestampSource: 'clock' })
    expect(unknown?.sent).toEqual({
      reference,
      recipients: 1,
      to: '254711000001',
      channel: 'sms',
      meta: 'mine',
      sentAt,
      scheduledFor,
    })
    expect(unknown?.payload).toMatchObject({ reference, recipients: 1 })
    await pass(200_000)
    expect(events).toHaveLength(1)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 6, waiting: 5, unknown: 1 })
    await intention.sent({ messages: [{ messageId: 'late' }] })
    await pass(200_000, () => events.length === 2)
    expect(unknownIn(events)[1]).toMatchObject({ reference: 'another', sent: { recipients: 5 } })
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 6, waiting: 1, unknown: 5 })
    expect(ofAll).toEqual([])
  })

  test('reports an unknown send at once, moves it to the dead letters, and replays it', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore(), retry: { attempts: 1 } })
    const takeOff = receiver.on('send.unknown', () => Promise.reject(new Error('not today')))
    const { unknown } = await receiver.sends.intend({ reference: 'order 8', meta: { order: 8 } })
    await unknown()
    await unknown()
    await pass(0, () => events.length === 1)
    await expect.poll(async () => (await receiver.deadLetters.list()).items.length).toBe(1)
    takeOff()
    const listed = await receiver.events.list({ types: ['send.unknown'] })
    expect(listed.items).toMatchObject([{ type: 'send.unknown', event: { reference: 'order 8' } }])
    expect((await receiver.events.list({ types: ['send.overdue', 'unrecognized'] })).items).toEqual([])
    const [letter] = (await receiver.deadLetters.list()).items
    expect(letter?.event).toMatchObject({ type: 'send.unknown', reference: 'order 8', sent: { meta: { order: 8 } } })
    await receiver.deadLetters.replay(letter?.id ?? '')
    await pass(0, () => events.length === 2)
    await pass(600_000)
    expect(events).toHaveLength(2)
    await expect(receiver.sends.intend({ reference: 'order 8' })).rejects.toMatchObject({ code: 'send_repeated' })
  })

  test('removes a send that was not made, and allows its reference again', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    const first = await receiver.sends.intend({ reference: 'order 9' })
    await first.unknown()
    await pass(10, () => events.length === 1)
    await first.notSent()
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
    const second = await receiver.sends.intend({ reference: 'order 9' })
    await second.notSent()
    await pass(200_000)
    await receiver.sends.intend({ reference: 'order 9' })
    await pass(121_000, () => events.length === 2)
    // Each is an event of its own.
    expect(new Set(unknownIn(events).map(({ id }) => id)).size).toBe(2)
  })

  test('ignores an answer without recipients, and one that neither accepts nor refuses anyone', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    const empty = await receiver.sends.intend({ reference: 'empty' })
    expect(await empty.sent({ messages: [], recipients: [] })).toEqual({ expected: 0, known: 0 })
    await (await receiver.sends.intend({ reference: 'empty' })).notSent()
    const nameless = await receiver.sends.intend({ reference: 'nameless' })
    await nameless.sent({ messages: [], recipients: [{ code: 99, to: '254711000001' }] })
    await pass(0, () => events.length === 1)
    expect(unknownIn(events)).toMatchObject([{ reference: 'nameless' }])
  })

  test('a later process ends a send whose answer was recorded but whose end was not', async () => {
    const store = failing(makeStore(), 'endSend', 1, 1)
    const { receiver, events, pass } = await expecting({ store })
    const { sent } = await receiver.sends.intend({ recipients: 2, withinMs: HOUR_MS })
    const answer = { messages: [{ messageId: 'a' }, { messageId: 'b' }] }
    await expect(sent(answer)).rejects.toThrow('unavailable')
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, waiting: 2, unknown: 0 })
    await pass(200_000)
    await pass(HOUR_MS, () => events.length === 2)
    expect(events.map(({ type }) => type)).toEqual(['send.overdue', 'send.overdue'])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, overdue: 2, unknown: 0 })
  })

  test('a repetition is a message of its own at each step, also when the send ends later', async () => {
    const store = failing(makeStore(), 'endSend', 1, 1)
    const { receiver, url, clock, events, pass } = await expecting({ store })
    await receiver.sends.expect({ messages: [{ messageId: 'm' }] }, { withinMs: HOUR_MS })
    await post(url, callback.smsDelivery({ messageId: 'm', status: 'network_failure' }))
    await pass(10, () => events.length === 1)
    const { sent, reference } = await receiver.sends.intend({ resendOf: 'm', withinMs: 2 * HOUR_MS })
    expect(reference).toBe('resend of m')
    const counted = { sent: 2, resent: 1, failed: { network_failure: 1 }, waiting: 1 }
    expect(await receiver.sends.account(everything)).toMatchObject(counted)
    await expect(sent({ messages: [{ messageId: 'n' }] })).rejects.toThrow('unavailable')
    expect(await receiver.sends.account(everything)).toMatchObject(counted)
    await pass(200_000)
    const open = async () => (await receiver.sends.outstanding()).items
    await expect
      .poll(() => clock.advance(1_000).then(open))
      .toMatchObject([{ messageId: 'n', resendOf: 'm', attempt: 2 }])
    expect(await receiver.sends.account(everything)).toMatchObject(counted)
    expect(await receiver.forget({ messageId: 'm' })).toMatchObject({ messageStates: 1 })
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, resent: 1, waiting: 1 })
    await pass(3 * HOUR_MS, () => events.some(({ type }) => type === 'send.overdue'))
    expect(events.filter(({ type }) => type === 'send.overdue')).toMatchObject([{ messageId: 'n' }])
    await expect(receiver.sends.intend({ resendOf: 'm' })).rejects.toMatchObject({ code: 'options_invalid' })
  })

  test('reports the rest of a partly recorded answer as unknown', async () => {
    // The send itself is the first call, then 500 messages at once.
    const { receiver, events, pass } = await expecting({ store: failing(makeStore(), 'expect', 3) })
    const { sent } = await receiver.sends.intend({ recipients: 700 })
    const messages = Array.from({ length: 700 }, (_none, nth) => ({ messageId: `m${nth}` }))
    await expect(sent({ messages })).rejects.toThrow('unavailable')
    await pass(121_000, () => events.length === 1)
    expect(unknownIn(events)).toMatchObject([{ sent: { recipients: 700 } }])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 700, waiting: 500, unknown: 200 })
  })

  test('records an answer later, by its reference', async () => {
    const { receiver, clock, events, pass } = await expecting({ store: makeStore() })
    const { reference } = await receiver.sends.intend({ meta: 'mine', to: '254711000001' })
    await clock.advance(1_000)
    const answer = { reference, sentAt: new Date(clock.now()), messages: [{ messageId: 'm' }] }
    expect(await receiver.sends.expect(answer, { withinMs: HOUR_MS })).toEqual({ expected: 1, known: 0 })
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, waiting: 1 })
    await pass(300_000)
    await pass(HOUR_MS, () => events.length === 1)
    expect(events).toMatchObject([{ type: 'send.overdue', sent: { messageId: 'm', meta: 'mine', reference } }])
    // A send that was never started has nothing to end.
    const alone = { reference: 'of no send', messages: [{ messageId: 'n' }] }
    expect(await receiver.sends.expect(alone)).toEqual({ expected: 1, known: 0 })
  })

  test('erases a person before the answer and after it', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    await receiver.sends.intend({ to: '+254 711 000 001' })
    const { sent } = await receiver.sends.intend({ to: '+254 711 000 002', meta: { of: '254711000002' } })
    await sent({ messages: [{ messageId: 'm', to: '254711000002' }] })
    expect(await receiver.forget({ recipient: '254711000001' })).toMatchObject({ messageStates: 1 })
    // After the answer, the record of the send has no data of the person.
    expect(await receiver.forget({ recipient: '254711000002' })).toMatchObject({ messageStates: 1 })
    await pass(72 * HOUR_MS)
    expect(events).toEqual([])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
  })

  test('the totals are right across pages, with thousands of sends in one millisecond', async () => {
    const { receiver, events, pass } = await expecting({ store: makeStore() })
    const begun = await Promise.all(
      Array.from({ length: 40 }, (_none, nth) => receiver.sends.intend({ reference: `of ${nth}`, recipients: 30 })),
    )
    for (const [nth, { sent, unknown }] of begun.entries()) {
      const messages = Array.from({ length: 30 }, (_id, place) => ({ messageId: `${nth}.${place}` }))
      if (nth % 4 === 0) await unknown()
      else if (nth % 4 !== 1) await sent({ messages })
    }
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1_200, waiting: 900, unknown: 300 })
    await pass(121_000, () => events.length === 20)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1_200, waiting: 600, unknown: 600 })
  })
})

test('one process reports a send that another one started and did not end', async () => {
  const { sqliteStore } = await import('messaging-webhooks/sqlite')
  const { ownFile } = await import('../support/own-folder.ts')
  const file = ownFile()
  const first = await expecting({ store: sqliteStore(file) })
  await first.receiver.sends.intend({ reference: 'order 1' })
  await first.receiver.close()
  const second = await expecting({ store: sqliteStore(file), clock: first.clock })
  await second.pass(121_000, () => second.events.length === 1)
  await second.pass(600_000)
  expect(second.events).toMatchObject([{ type: 'send.unknown', reference: 'order 1' }])
})

test('refuses invalid values', async () => {
  const { receiver } = await expecting()
  await expect(receiver.sends.intend({ reference: '' })).rejects.toThrow(/reference is an empty string/)
  await expect(receiver.sends.intend({ reference: 'x'.repeat(257) })).rejects.toThrow(/1 to 256 characters/)
  await expect(receiver.sends.intend({ to: [] })).rejects.toThrow(/to is/)
  await expect(receiver.sends.intend({ recipients: 0 })).rejects.toThrow(/recipients is 0/)
  await expect(receiver.sends.intend({ meta: 1n })).rejects.toThrow(/cannot be written as JSON/)
  await expect(receiver.sends.intend({ answerWithinMs: 0 })).rejects.toThrow(/answerWithinMs is 0/)
  const scheduledFor = new Date(Date.now() * 1_000)
  await expect(receiver.sends.intend({ scheduledFor })).rejects.toThrow(/more than a year/)
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
})

test('a reference belongs to its project', async () => {
  const pair = { authKey: 'a', signingSecret: 's' }
  const { receiver } = await expecting({ projects: { One: pair, Two: { authKey: 'b', signingSecret: 't' } } })
  await expect(receiver.sends.intend({ reference: 'r' })).rejects.toMatchObject({ code: 'project_required' })
  const one = await receiver.sends.intend({ reference: 'r', project: 'One', recipients: 2 })
  await receiver.sends.intend({ reference: 'r', project: 'Two', recipients: 3 })
  await one.sent({ messages: [{ messageId: 'm' }, { messageId: 'n' }] })
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 5, waiting: 5 })
  expect((await receiver.sends.outstanding()).items).toMatchObject([{ project: 'One' }, { project: 'One' }])
})
