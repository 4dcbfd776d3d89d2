/** Sends that a receiver is told of before they are made, through real HTTP on both sides. */
import { inspect } from 'node:util'
import { memoryStore, type Receiver, type WebhookEvent } from 'messaging-webhooks'
import { sender, SendError, type Client, type Sender } from 'messaging-webhooks/client'
import type { EmulatorOptions, ProjectOptions } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { API_KEY, AT_ONCE, AUTH_KEY, emulating, PATIENCE, SIGNING_SECRET } from '../emulator/emulating.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { freePort } from '../support/free-port.ts'
import { receiving } from '../support/receiving.ts'
import { ACCEPTED, answering, clientOf, DELIVERED, failing, UNSUPPORTED } from './answering.ts'

const everything = { from: new Date(0), to: new Date(8e15) }
const HELLO = { to: DELIVERED, message: 'Hello' }

/** A service, a receiver of its callbacks on a store that can be taken away, and what joins them. */
async function sending(shop: Partial<ProjectOptions> = {}, options: Omit<EmulatorOptions, 'projects'> = {}) {
  const store = faultyStore(memoryStore())
  const { receiver, url } = await receiving({
    store,
    credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
    orphanHoldMs: 2_000,
  })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  await receiver.start()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls: { status: url }, ...shop }, options)
  return { store, receiver, events, emulator, endpoint, idle, ...sender(receiver, clientOf(endpoint)) }
}

const reference = 'order 7'

test('each call is written down, and its reports say which send it was', async () => {
  const { send, otp, premium, premiumSubscription, airtime, events, receiver, idle } = await sending()
  const how = (call: keyof Sender) => ({ reference: call, meta: { call }, within: 3_600_000 })
  const answers = [
    await send({ ...HELLO, campaign: 'spring' }, how('send')),
    await otp({ ...HELLO, message: '4711' }, how('otp')),
    await premium(HELLO, how('premium')),
    await premiumSubscription(HELLO, how('premiumSubscription')),
    await airtime({ to: DELIVERED, extra: { amount: 50 } }, how('airtime')),
  ]
  await idle()
  await expect.poll(() => events.filter(({ type }) => type === 'message.delivered'), PATIENCE).toHaveLength(3)
  const { items } = await receiver.outstanding()
  const reported = events.flatMap((event) => (event.type === 'message.delivered' ? (event.sent ?? []) : []))
  for (const { reference: of, messages, channel, type } of answers) {
    const [{ messageId } = { messageId: '' }] = messages
    const details = { messageId, to: DELIVERED, channel, type, reference: of, meta: { call: of } }
    // Premium messages are reported to another URL.
    const known = [...reported, ...items].find((each) => each.messageId === messageId)
    expect(known).toMatchObject(details)
  }
  expect(reported.map((sent) => sent.reference).toSorted()).toEqual(['airtime', 'otp', 'send'])
  expect(reported.find((sent) => sent.reference === 'otp')?.type).toBe('transactional')
  expect(await receiver.account(everything)).toMatchObject({ sent: 5, delivered: 3, waiting: 2, unknown: 0 })
})

test('one object for many sends: each goes out as it was given, and to nobody twice', async () => {
  const { receiver } = await receiving()
  const { url, received } = await answering(() => ({ body: ACCEPTED }))
  const { send, sendAll } = sender(receiver, clientOf(url))
  const message = { to: '', message: 'Hello' }
  const numbers = ['254711000001', '254711000002', '254711000003']
  const sends = numbers.map((to) => send(Object.assign(message, { to, message: `For ${to}` })))
  const list = sendAll(Object.assign(message, { to: ['254711000004'], message: 'For all' }))
  Object.assign(message, { to: '254711000005', message: 'For nobody' })
  await Promise.all([...sends, list])
  const made = received.map(({ body }) => JSON.parse(body) as { readonly to: string; readonly message: string })
  const right = numbers.map((to) => `${to}: For ${to}`)
  expect(made.map((each) => `${each.to}: ${each.message}`).toSorted()).toEqual([...right, '254711000004: For all'])
})

test('a client that throws at once leaves no send open', async () => {
  const { receiver } = await receiving()
  const unknown: string[] = []
  receiver.on('send.unknown', ({ reference: of }) => void unknown.push(of))
  await receiver.start()
  const broken = sender(receiver, {
    ...clientOf('http://127.0.0.1/'),
    send() {
      throw new TypeError('It is no client of ours.')
    },
  })
  await expect(broken.send(HELLO, { reference })).rejects.toThrow('no client of ours')
  await expect.poll(() => unknown, PATIENCE).toEqual([reference])
})

test('what was refused at once is counted, and what was accepted beside it expected', async () => {
  const { send, receiver } = await sending()
  const sent = await send({ to: [DELIVERED, UNSUPPORTED], message: 'Hello' })
  expect(sent.kind).toBe('partial')
  expect(sent.reference).toMatch(/^[0-9a-f-]{36}$/)
  expect(await receiver.account(everything)).toMatchObject({ sent: 2, refused: { unsupported_number: 1 } })
})

test('a reference is sent once, however often it is asked for', async () => {
  const { send, emulator } = await sending()
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => send(HELLO, { reference })))
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const reasons = tries.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  for (const reason of reasons) expect(reason).toMatchObject({ code: 'send_repeated' })
  expect(emulator.sends()).toHaveLength(1)
})

describe('a send that fails', () => {
  test('and surely was not made may be made again under its reference', async () => {
    const { receiver, endpoint, emulator, events } = await sending()
    const nowhere = sender(receiver, clientOf(`http://127.0.0.1:${await freePort()}/`))
    expect(await failing(nowhere.send(HELLO, { reference }))).toMatchObject({ code: 'not_sent', mayBeSent: false })
    const stranger = sender(receiver, clientOf(endpoint, { apiKey: 'of-somebody-else' }))
    expect(await failing(stranger.send(HELLO, { reference }))).toMatchObject({ code: 'unknown_project' })
    const stopped = sender(receiver, clientOf(endpoint)).send(HELLO, { reference, signal: AbortSignal.abort() })
    expect(await failing(stopped)).toMatchObject({ code: 'aborted', mayBeSent: false })
    expect(await receiver.account(everything)).toMatchObject({ sent: 0 })
    await sender(receiver, clientOf(endpoint)).send(HELLO, { reference })
    // What was refused stands in the journal, too.
    expect(emulator.sends().filter(({ recipients }) => recipients.length > 0)).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'send.unknown')).toEqual([])
  })

  test('and may have been made is unknown at once', async () => {
    const { send, receiver, events, emulator } = await sending({}, { sendFaults: { noAnswer: 1 } })
    const error = await failing(send({ ...HELLO, channel: 'sms' }, { reference, meta: { order: 7 } }))
    expect(error).toMatchObject({ code: 'unknown_outcome', mayBeSent: true })
    await expect.poll(() => events.filter(({ type }) => type === 'send.unknown'), PATIENCE).toHaveLength(1)
    expect(events.find(({ type }) => type === 'send.unknown')).toMatchObject({
      reference,
      sent: { to: DELIVERED, channel: 'sms', recipients: 1, meta: { order: 7 } },
    })
    await expect(send(HELLO, { reference })).rejects.toMatchObject({ code: 'send_repeated' })
    expect(emulator.sends()).toHaveLength(1)
    expect(await receiver.account(everything)).toMatchObject({ sent: 1, unknown: 1 })
  })

  test('for what cannot be sent leaves nothing behind', async () => {
    const { send, endpoint, receiver } = await sending()
    const wrong = { ...HELLO, text: 'Hello' }
    await expect(send(wrong, { reference })).rejects.toThrow(/text is no option/)
    const misspelt = { reference, witin: 1 }
    await expect(send(HELLO, misspelt)).rejects.toThrow(/did you mean within/)
    const form = sender(receiver, clientOf(endpoint, { via: 'form' }))
    await expect(form.send({ ...HELLO, extra: { list: {} } }, { reference })).rejects.toThrow(/list is no text/)
    expect(await receiver.account(everything)).toMatchObject({ sent: 0 })
    await send(HELLO, { reference })
  })

  test('in a client of one’s own, with what is no error of ours, may have been made', async () => {
    const { receiver, endpoint, events } = await sending()
    const client: Client = {
      ...clientOf(endpoint),
      send: () => Promise.reject(new Error('Mine.')),
    }
    await expect(sender(receiver, client).send(HELLO, { reference })).rejects.toThrow('Mine.')
    await expect.poll(() => events, PATIENCE).toMatchObject([{ type: 'send.unknown', reference }])
  })
})

describe('where the store is away', () => {
  test('before the request, nothing is sent', async () => {
    const { send, store, emulator } = await sending()
    store.fault = 'throws'
    await expect(send(HELLO, { reference })).rejects.toThrow('The store is away.')
    store.fault = 'none'
    expect(emulator.sends()).toEqual([])
    await send(HELLO, { reference })
    expect(emulator.sends()).toHaveLength(1)
  })

  /** Takes the store away as the answer comes. */
  async function awayAfter(recordWithinMs?: number) {
    // Its reports come when the store is back.
    const found = await sending({}, { network: { ...AT_ONCE, delayMs: [1_500, 1_500] } })
    const client = clientOf(found.endpoint, {
      async fetch(url, init) {
        const response = await fetch(url, init)
        found.store.fault = 'throws'
        return response
      },
    })
    return { ...found, ...sender(found.receiver, client, { recordWithinMs }) }
  }

  test('after the answer for a while, it is told when it is back', async () => {
    const { send, store, receiver, emulator } = await awayAfter()
    setTimeout(() => (store.fault = 'none'), 500)
    const { messages } = await send(HELLO, { reference })
    expect(messages).toHaveLength(1)
    expect(emulator.sends()).toHaveLength(1)
    expect(await receiver.account(everything)).toMatchObject({ sent: 1, unknown: 0 })
  })

  test('after the answer for too long, the answer is not lost', async () => {
    const { send, store, receiver, emulator, events, idle } = await awayAfter(300)
    const error = await failing(send(HELLO, { reference, meta: 'mine' }))
    expect(error).toMatchObject({ code: 'unrecorded', mayBeSent: true, recipients: 1 })
    expect(error.sentAt).toBeInstanceOf(Date)
    const { answer } = error
    expect(answer).toMatchObject({ kind: 'accepted', reference, messages: [{ to: DELIVERED }] })
    // Nobody's number is in a log.
    expect(inspect(error)).not.toContain(DELIVERED)
    expect(JSON.stringify(error)).not.toContain(DELIVERED)
    store.fault = 'none'
    if (answer === undefined) throw new Error('The answer is there.')
    expect(await receiver.expect(answer)).toEqual({ expected: 1, known: 0 })
    await idle()
    await expect.poll(() => events.filter(({ type }) => type === 'message.delivered'), PATIENCE).toHaveLength(1)
    expect(await receiver.account(everything)).toMatchObject({ sent: 1, delivered: 1, unknown: 0, waiting: 0 })
    expect(events.find(({ type }) => type === 'message.delivered')).toMatchObject({ sent: { meta: 'mine', reference } })
    expect(emulator.sends()).toHaveLength(1)
  })
})

describe('a list', () => {
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, nth) => String(254_711_000_000 + nth))
  const to = numbers(100)

  test('that was stopped goes on under its reference, and no batch is sent twice', async () => {
    const { sendAll, receiver, emulator } = await sending()
    const stopping = new AbortController()
    const batches = { batch: 10, concurrency: 2, reference: 'spring' }
    const first = await sendAll(
      { to, message: 'Sale!', campaign: 'Spring' },
      { ...batches, signal: stopping.signal, onProgress: (told) => told.batches === 3 && stopping.abort() },
    )
    expect(first.counts).toMatchObject({ repeated: 0, unknown: 0 })
    expect(first.counts.unsent).toBeGreaterThanOrEqual(60)
    const second = await sendAll({ to, message: 'Sale!', campaign: 'Spring' }, batches)
    expect(second.counts).toEqual({
      total: 100,
      accepted: first.counts.unsent,
      refused: 0,
      failed: 0,
      repeated: first.counts.accepted,
      unknown: 0,
      unsent: 0,
    })
    expect(second.repeated[0]).toEqual({ to: to.slice(0, 10), reference: 'spring#0' })
    const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
    expect(made.toSorted()).toEqual(to)
    expect(await receiver.account(everything)).toMatchObject({ sent: 100, unknown: 0 })
  })

  test('of which answers were lost is unknown batch by batch, and no other is', async () => {
    const { sendAll, receiver, events, emulator } = await sending(
      {},
      { sendFaults: { noAnswer: 0.3, lostRequest: 0.2 } },
    )
    const all = await sendAll({ to, message: 'Sale!' }, { batch: 5, concurrency: 4, meta: 'spring', reference: 'a' })
    const again = await sendAll({ to, message: 'Sale!' }, { batch: 5, concurrency: 4, meta: 'spring', reference: 'a' })
    expect(again.counts.repeated).toBe(100)
    expect(all.failed.length).toBeGreaterThan(2)
    await expect
      .poll(() => events.filter(({ type }) => type === 'send.unknown'), PATIENCE)
      .toHaveLength(all.failed.length)
    expect(await receiver.account(everything)).toMatchObject({ sent: 100, unknown: all.counts.unknown })
    const made = emulator.sends().flatMap(({ recipients }) => recipients.map((each) => each.to))
    expect(new Set(made).size).toBe(made.length)
  })

  test('stops where the store is away, and what was sent by then is told apart', async () => {
    const { store, receiver, endpoint, emulator } = await sending()
    let requests = 0
    const client = clientOf(endpoint, {
      async fetch(url, init) {
        const response = await fetch(url, init)
        if ((requests += 1) === 3) store.fault = 'throws'
        return response
      },
    })
    const { sendAll } = sender(receiver, client, { recordWithinMs: 200 })
    const all = await sendAll({ to, message: 'Sale!' }, { batch: 10, concurrency: 1 })
    expect(all.stoppedBy).toMatchObject({ code: 'unrecorded' })
    expect(all.failed).toMatchObject([{ to: to.slice(20, 30), error: { code: 'unrecorded' } }])
    expect(all.counts).toMatchObject({ accepted: 30, unknown: 0, failed: 0, unsent: 70 })
    const none = await sendAll({ to, message: 'Sale!' }, { batch: 10, concurrency: 1 })
    expect(none).toMatchObject({ stoppedBy: { code: 'not_sent' }, counts: { failed: 10, unsent: 90 } })
    expect(emulator.sends()).toHaveLength(3)
  })

  test('takes the options of both, and no other', async () => {
    const { sendAll } = await sending()
    await expect(sendAll({ to, message: 'x' }, { batch: 0 })).rejects.toThrow(/batch is 0/)
    const misspelt = { referense: 'a', batch: 10 }
    await expect(sendAll({ to, message: 'x' }, misspelt)).rejects.toThrow(/did you mean reference/)
    const wrong = await sendAll({ to, message: 'x' }, { within: -1 })
    expect(wrong.stoppedBy?.message).toContain('within is -1')
  })
})

test('several projects, each with its client', async () => {
  const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  const { receiver } = await receiving({ projects: { 'My Shop': pair, Other: { authKey: 'b', signingSecret: 't' } } })
  const { endpoint } = await emulating()
  const client = clientOf(endpoint, { apiKey: API_KEY })
  await expect(sender(receiver, client).send(HELLO)).rejects.toMatchObject({ code: 'project_required' })
  await sender(receiver, client, { project: 'My Shop' }).send(HELLO, { reference })
  await sender(receiver, client, { project: 'My Shop' }).send(HELLO, { reference, project: 'Other' })
  expect((await receiver.outstanding()).items.map(({ project }) => project).toSorted()).toEqual(['My Shop', 'Other'])
})

test('refuses what cannot work', async () => {
  const receiver: Pick<Receiver, 'intend'> = (await receiving()).receiver
  const client = clientOf('http://127.0.0.1:1/')
  expect(() => sender(receiver, client, { recordWithinMs: 0 })).toThrow(/recordWithinMs is 0/)
  const misspelt = { projct: 'x', recordWithinMs: 1 }
  expect(() => sender(receiver, client, misspelt)).toThrow(/did you mean project/)
  expect(new SendError('aborted', { mayBeSent: false, attempts: 0, recipients: 1 }).answer).toBeUndefined()
})
