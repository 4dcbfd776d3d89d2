/** Sends that a receiver records before they are made, through real HTTP on both sides. */
import { inspect } from 'node:util'
import { memoryStore, type WebhookEvent } from 'messaging-webhooks'
import { SendError, type Client } from 'messaging-webhooks/client'
import { callback } from 'messaging-webhooks/testing'
import type { EmulatorOptions, ProjectOptions } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { AT_ONCE, emulating, POLL } from '../emulator/emulating.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { freePort } from '../support/free-port.ts'
import { post, receiving } from '../support/receiving.ts'
import { ACCEPTED, answering, clientOf, DELIVERED, failing } from './answering.ts'

const everything = { from: new Date(0), to: new Date(8e15) }
const HELLO = { to: DELIVERED, message: 'Hello' }

/** A service, a receiver of its callbacks on a store that can become unavailable, and a client that joins them. */
async function sending(shop: Partial<ProjectOptions> = {}, options: Omit<EmulatorOptions, 'projects'> = {}) {
  const store = faultyStore(memoryStore())
  const { receiver, url } = await receiving({ store })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  await receiver.start()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls: { status: url }, ...shop }, options)
  return { store, receiver, events, emulator, endpoint, idle, ...clientOf(endpoint, { receiver }) }
}

const reference = 'order 7'

test('records each call, and its reports name the send', async () => {
  const { send, otp, premium, premiumSubscription, airtime, events, receiver, idle } = await sending()
  const how = (call: keyof Client) => ({ ...HELLO, reference: call, meta: { call }, withinMs: 3_600_000 })
  const answers = [
    await send({ ...how('send'), campaign: 'spring', from: 'SHOP' }),
    await otp({ ...how('otp'), message: '4711' }),
    await premium(how('premium')),
    await premiumSubscription(how('premiumSubscription')),
    await airtime({ ...how('airtime'), extra: { amount: 50 } }),
  ]
  await idle()
  await expect.poll(() => events.filter(({ type }) => type === 'message.delivered'), POLL).toHaveLength(3)
  const reported = events.flatMap((event) => (event.type === 'message.delivered' ? (event.sent ?? []) : []))
  for (const { reference: of, messages, channel, type } of answers) {
    const [{ messageId } = { messageId: '' }] = messages
    // Premium messages are reported to another URL, in a form that is not shown.
    if (of === 'premium' || of === 'premiumSubscription') continue
    const details = { messageId, to: DELIVERED, channel, type, reference: of, meta: { call: of } }
    expect(reported.find((each) => each.messageId === messageId)).toMatchObject(details)
  }
  expect(reported.map((sent) => sent.reference).toSorted()).toEqual(['airtime', 'otp', 'send'])
  expect(reported.find((sent) => sent.reference === 'otp')?.type).toBe('transactional')
  expect(reported.map((sent) => sent.from).filter(Boolean)).toEqual(['SHOP'])
  const account = { sent: 5, delivered: 3, unreported: 2, waiting: 0, unknown: 0 }
  expect(await receiver.sends.account(everything)).toMatchObject(account)
  expect((await receiver.sends.outstanding()).items).toEqual([])
})

test('expects the reports of a premium send when the receiver reads them', async () => {
  const { receiver } = await receiving({ readReport: () => undefined })
  const { url } = await answering(() => ({ body: ACCEPTED }))
  await clientOf(url, { receiver }).premium(HELLO)
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, waiting: 1, unreported: 0 })
})

test('one object for many sends: each goes out as it was given, and to no one twice', async () => {
  const { receiver } = await receiving()
  const { url, received } = await answering(() => ({ body: ACCEPTED }))
  const { send, sendAll } = clientOf(url, { receiver })
  const message = { to: '', message: 'Hello' }
  const numbers = ['254711000001', '254711000002', '254711000003']
  const sends = numbers.map((to) => send(Object.assign(message, { to, message: `For ${to}` })))
  const list = sendAll(Object.assign(message, { to: ['254711000004'], message: 'For all' }))
  Object.assign(message, { to: '254711000005', message: 'For no one' })
  await Promise.all([...sends, list])
  const made = received.map(({ body }) => JSON.parse(body) as { readonly to: string; readonly message: string })
  const right = numbers.map((to) => `${to}: For ${to}`)
  expect(made.map((each) => `${each.to}: ${each.message}`).toSorted()).toEqual([...right, '254711000004: For all'])
})

test('a `fetch` that throws at once leaves no send open', async () => {
  const { receiver } = await receiving()
  const fetch = () => {
    throw new Error('Mine.')
  }
  const error = await failing(clientOf('http://service.invalid/', { receiver, fetch }).send({ ...HELLO, reference }))
  expect(error).toMatchObject({ code: 'unknown_outcome', mayBeSent: true })
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, unknown: 1, waiting: 0 })
})

test('sends a reference once, however often it is requested', async () => {
  const { send, emulator } = await sending()
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => send({ ...HELLO, reference })))
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const reasons = tries.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  for (const reason of reasons) expect(reason).toMatchObject({ code: 'send_repeated' })
  expect(emulator.sends()).toHaveLength(1)
})

test('an accepted recipient without an id is not unknown: no report of it can come', async () => {
  const { receiver, url: status } = await receiving()
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  await receiver.start()
  const recipients = [
    { to: '254711000001', statusCode: 11 },
    { to: '254711000002', statusCode: 14, messageId: 'm' },
    { to: '254711000003', statusCode: 13 },
  ]
  const { url } = await answering(({ body }) => {
    const { to } = JSON.parse(body) as { readonly to: string | readonly string[] }
    return {
      body: { messageData: { messages: 1 }, recipients: recipients.filter((each) => [to].flat().includes(each.to)) },
    }
  })
  const { send, sendAll } = clientOf(url, { receiver, answerWithinMs: 100 })
  const [alone = '', ...others] = recipients.map(({ to }) => to)
  expect(await send({ to: alone, message: 'Hello' })).toMatchObject({ kind: 'accepted', messages: [] })
  expect(await send({ to: [alone, ...others], message: 'Hello' })).toMatchObject({ kind: 'accepted' })
  expect((await sendAll({ to: [alone, ...others], message: 'Hello' })).totals).toMatchObject({ accepted: 3 })
  const account = { sent: 7, waiting: 1, unreported: 5, unknown: 0 }
  // Two sends have the message `m`, which is one message.
  expect(await receiver.sends.account(everything)).toMatchObject({ ...account, sent: 6 })
  await post(status, callback.smsDelivery({ messageId: 'm' }))
  await expect.poll(() => events.length, POLL).toBe(1)
  expect(events.map(({ type }) => type)).toEqual(['message.delivered'])
  expect((await receiver.sends.outstanding()).items).toEqual([])
})

describe('the deadline of a message', () => {
  const DAYS = 86_400_000
  async function deadlines(make: (client: Client) => Promise<unknown>, fails = false) {
    const store = faultyStore(memoryStore())
    const { receiver } = await receiving({ store, readReport: () => undefined })
    const { url } = await answering(() => {
      if (fails) store.fault = 'throws'
      return { body: ACCEPTED }
    })
    const channels = { premium: 'vas', premiumSubscription: 'club', airtime: 'top-up' }
    const made = await make(clientOf(url, { receiver, channels, recordWithinMs: 1 })).catch((error: unknown) => error)
    store.fault = 'none'
    if (made instanceof SendError && made.answer !== undefined) await receiver.sends.expect(made.answer)
    const { items } = await receiver.sends.outstanding()
    return items.map(({ sentAt, overdueAt }) => (overdueAt.getTime() - sentAt.getTime()) / DAYS)
  }

  test.each<readonly [call: 'send' | 'premium' | 'premiumSubscription' | 'airtime', days: number, options: object]>([
    ['send', 1, {}],
    ['premium', 1, {}],
    ['premiumSubscription', 1, {}],
    ['airtime', 1, {}],
    ['send', 3, { channel: 'chat' }],
    ['airtime', 2, { withinMs: 2 * DAYS }],
    ['send', 2, { withinMs: 2 * DAYS, channel: 'chat' }],
  ])(
    '%s: %d days, also on a channel with a name of your own, and if the answer is recorded later',
    async (call, days, options) => {
      const make = (client: Client) => client[call]({ ...HELLO, ...options })
      expect(await deadlines(make)).toEqual([days])
      expect(await deadlines(make, true)).toEqual([days])
    },
  )
})

describe('a reference', () => {
  test('is used once in all calls: a list skips the number of a send, and a send the reference of a list', async () => {
    const { send, otp, airtime, sendAll, emulator } = await sending()
    await send({ ...HELLO, reference })
    const more = ['254711000001', `+${DELIVERED}`]
    const { outcomes } = await sendAll({ to: more, message: 'Hello', reference })
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'repeated'])
    await sendAll({ ...HELLO, to: [DELIVERED], reference: 'spring' })
    for (const call of [send, otp, airtime])
      await expect(call({ ...HELLO, reference: 'spring' })).rejects.toMatchObject({ code: 'send_repeated' })
    expect(emulator.sends()).toHaveLength(3)
  })

  test('stays used when the person is erased', async () => {
    const { send, sendAll, receiver, emulator } = await sending({}, { sendFaults: { noAnswer: 1 } })
    const list = { to: [DELIVERED], message: 'Hello', reference: 'spring' }
    await failing(send({ ...HELLO, reference }))
    await sendAll(list)
    expect((await receiver.forget({ recipient: DELIVERED })).messageStates).toBe(2)
    await expect(send({ ...HELLO, reference })).rejects.toMatchObject({ code: 'send_repeated' })
    expect((await sendAll(list)).totals).toMatchObject({ repeated: 1 })
    await receiver.forget({ before: new Date(Date.now() + 1) })
    expect((await sendAll(list)).totals).toMatchObject({ repeated: 1 })
    expect(emulator.sends()).toHaveLength(2)
  })
})

describe('a send that fails', () => {
  test('and surely was not made may be made again under its reference', async () => {
    const { receiver, endpoint, emulator, events } = await sending()
    const nowhere = clientOf(`http://127.0.0.1:${await freePort()}/`, { receiver })
    expect(await failing(nowhere.send({ ...HELLO, reference }))).toMatchObject({ code: 'not_sent', mayBeSent: false })
    const stranger = clientOf(endpoint, { receiver, apiKey: 'of-another-caller' })
    expect(await failing(stranger.send({ ...HELLO, reference }))).toMatchObject({ code: 'unknown_project' })
    const stopped = clientOf(endpoint, { receiver }).send({ ...HELLO, reference }, { signal: AbortSignal.abort() })
    expect(await failing(stopped)).toMatchObject({ code: 'aborted', mayBeSent: false })
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
    await clientOf(endpoint, { receiver }).send({ ...HELLO, reference })
    // The journal has refusals, too.
    expect(emulator.sends().filter(({ recipients }) => recipients.length > 0)).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'send.unknown')).toEqual([])
  })

  test('and may have been made is unknown at once', async () => {
    const { send, receiver, events, emulator } = await sending({}, { sendFaults: { noAnswer: 1 } })
    const error = await failing(send({ ...HELLO, channel: 'sms', reference, meta: { order: 7 } }))
    expect(error).toMatchObject({ code: 'unknown_outcome', mayBeSent: true })
    await expect.poll(() => events.filter(({ type }) => type === 'send.unknown'), POLL).toHaveLength(1)
    expect(events.find(({ type }) => type === 'send.unknown')).toMatchObject({
      reference,
      sent: { to: DELIVERED, channel: 'sms', recipients: 1, meta: { order: 7 } },
    })
    await expect(send({ ...HELLO, reference })).rejects.toMatchObject({ code: 'send_repeated' })
    expect(emulator.sends()).toHaveLength(1)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, unknown: 1 })
  })

  test('for an invalid message leaves no record', async () => {
    const { send, receiver } = await sending()
    const wrong = { ...HELLO, reference, text: 'Hello' }
    await expect(send(wrong)).rejects.toThrow(/Invalid option for send: text/)
    const misspelt = { ...HELLO, reference, witinMs: 1 }
    await expect(send(misspelt)).rejects.toThrow(/Did you mean withinMs/)
    await expect(send({ ...HELLO, reference, extra: { list: 1n } })).rejects.toThrow(/cannot be written as JSON/)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 0 })
    await send({ ...HELLO, reference })
  })
})

describe('when the store is unavailable', () => {
  test('before the request, nothing is sent', async () => {
    const { send, store, emulator } = await sending()
    store.fault = 'throws'
    await expect(send({ ...HELLO, reference })).rejects.toThrow('The store is unavailable.')
    store.fault = 'none'
    expect(emulator.sends()).toEqual([])
    await send({ ...HELLO, reference })
    expect(emulator.sends()).toHaveLength(1)
  })

  /** Makes the store unavailable as the answer arrives. */
  async function unavailableAfter(recordWithinMs?: number) {
    // Its reports come when the store is back.
    const found = await sending({}, { network: { ...AT_ONCE, delayMs: [1_500, 1_500] } })
    const client = clientOf(found.endpoint, {
      receiver: found.receiver,
      ...(recordWithinMs !== undefined && { recordWithinMs }),
      async fetch(url, init) {
        const response = await fetch(url, init)
        found.store.fault = 'throws'
        return response
      },
    })
    return { ...found, ...client }
  }

  test('after the answer for a while, the client reports the send once the store is back', async () => {
    const { send, store, receiver, emulator } = await unavailableAfter()
    setTimeout(() => (store.fault = 'none'), 500)
    const { messages } = await send({ ...HELLO, reference })
    expect(messages).toHaveLength(1)
    expect(emulator.sends()).toHaveLength(1)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, unknown: 0 })
  })

  test('after the answer for too long, the answer is not lost', async () => {
    const { send, store, receiver, emulator, events, idle } = await unavailableAfter(300)
    const error = await failing(send({ ...HELLO, reference, meta: 'mine' }))
    expect(error).toMatchObject({ code: 'unrecorded', mayBeSent: true, recipients: 1 })
    expect(error.sentAt).toBeInstanceOf(Date)
    const { answer } = error
    expect(answer).toMatchObject({ kind: 'accepted', reference, messages: [{ to: DELIVERED }] })
    // Logs contain no phone number.
    expect(inspect(error)).not.toContain(DELIVERED)
    expect(JSON.stringify(error)).not.toContain(DELIVERED)
    store.fault = 'none'
    if (answer === undefined) throw new Error('The answer is there.')
    expect(await receiver.sends.expect(answer)).toEqual({ expected: 1, known: 0 })
    await idle()
    await expect.poll(() => events.filter(({ type }) => type === 'message.delivered'), POLL).toHaveLength(1)
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 1, delivered: 1, unknown: 0, waiting: 0 })
    expect(events.find(({ type }) => type === 'message.delivered')).toMatchObject({ sent: { meta: 'mine', reference } })
    expect(emulator.sends()).toHaveLength(1)
  })
})

describe('a list', () => {
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, nth) => String(254_711_000_000 + nth))
  const to = numbers(100)

  test('with lost answers reports exactly their numbers as unknown', async () => {
    const { sendAll, receiver, events, emulator } = await sending(
      {},
      { sendFaults: { noAnswer: 0.3, lostRequest: 0.2 } },
    )
    const list = { to, message: 'Sale!', meta: 'spring', reference: 'a' }
    const all = await sendAll(list, { batch: 5, concurrency: 4 })
    const again = await sendAll(list, { batch: 5, concurrency: 4 })
    expect(again.totals.repeated).toBe(100)
    expect(all.totals.unknown).toBeGreaterThan(10)
    const unknown = () => events.filter((event) => event.type === 'send.unknown')
    await expect.poll(unknown, POLL).toHaveLength(all.totals.unknown)
    expect(
      unknown()
        .map(({ sent }) => sent.to)
        .toSorted(),
    ).toEqual(all.outcomes.filter(({ outcome }) => outcome === 'unknown').map((each) => each.to))
    expect(unknown()[0]).toMatchObject({ reference: 'a', sent: { recipients: 1, meta: 'spring' } })
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 100, unknown: all.totals.unknown })
    const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
    expect(new Set(made).size).toBe(made.length)
  })

  test('stops when the store is unavailable, and reports what was sent by then', async () => {
    const { store, receiver, endpoint, emulator } = await sending()
    let requests = 0
    const { sendAll } = clientOf(endpoint, {
      receiver,
      recordWithinMs: 200,
      async fetch(url, init) {
        const response = await fetch(url, init)
        if ((requests += 1) === 3) store.fault = 'throws'
        return response
      },
    })
    const all = await sendAll({ to, message: 'Sale!' }, { batch: 10, concurrency: 1 })
    expect(all.stoppedBy).toMatchObject({ code: 'unrecorded' })
    expect(all.outcomes.filter(({ error }) => error?.code === 'unrecorded').map((each) => each.to)).toEqual(
      to.slice(20, 30),
    )
    expect(all.totals).toMatchObject({ accepted: 30, unknown: 0, failed: 0, unsent: 70 })
    const none = await sendAll({ to, message: 'Sale!' }, { batch: 10, concurrency: 1 })
    expect(none).toMatchObject({ stoppedBy: { code: 'not_sent' }, totals: { failed: 10, unsent: 90 } })
    expect(emulator.sends()).toHaveLength(3)
  })
})
