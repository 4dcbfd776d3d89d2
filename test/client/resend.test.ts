/** Re-sending after temporary failures, as the service recommends: once for each failure, and never after a permanent one. */
import { RetryLater, type WebhookEvent } from 'messaging-webhooks'
import type { FailedEvent } from '../../src/public/events.ts'
import type { ResendHandler, ResendOptions } from 'messaging-webhooks/client'
import { callback, signCallback } from 'messaging-webhooks/testing'
import type { EmulatorOptions } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { emulating, POLL, SHOP } from '../emulator/emulating.ts'
import { onEachStore } from '../support/each-store.ts'
import { AUTH_KEY, CREDENTIALS, receiving, SIGNING_SECRET, type SomeOptions } from '../support/receiving.ts'
import { clientOf, DELIVERED } from './answering.ts'

/** Of carrier A: the codes 1001 and 1. */
const NETWORK_FAILURE = '999100001001'
const IMPOSSIBLE = '999100000001'
const everything = { from: new Date(0), to: new Date(8e15) }
const HOUR_MS = 3_600_000

interface Resending extends Partial<ResendOptions> {
  readonly receiving?: SomeOptions
  readonly emulating?: Omit<EmulatorOptions, 'projects'>
  readonly fetch?: typeof fetch
  readonly channels?: { readonly airtime: string }
}

async function resending({
  receiving: receivingOptions,
  emulating: emulatingOptions,
  fetch: own,
  channels,
  ...options
}: Resending = {}) {
  const { receiver, url, errors } = await receiving({
    retry: { initialDelayMs: 1 },
    ...receivingOptions,
  })
  const { emulator, endpoint, idle } = await emulating({ callbackUrls: { status: url } }, emulatingOptions)
  const client = clientOf(endpoint, {
    receiver,
    channels,
    retry: { attempts: 1 },
    ...(own && { fetch: (to, init) => own(to, init) }),
  })
  const handler = client.resend({ compose: () => 'Once more', delayMs: 0, ...options })
  receiver.on('message.failed', handler)
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  await receiver.start()

  /** Reports on a message as the service does. */
  async function report(fields: object): Promise<void> {
    const body = JSON.stringify({ ...callback.smsDelivery({ project: SHOP, ...fields }), authKey: AUTH_KEY })
    const headers = { 'content-type': 'application/json', 'x-service-signature': signCallback(body, SIGNING_SECRET) }
    await fetch(url, { method: 'POST', headers, body })
  }

  /** Runs until no send and no dispatch is pending. */
  async function rest(): Promise<void> {
    await expect
      .poll(async () => {
        const before = emulator.sends().length
        await idle()
        return (await receiver.drain({ deadlineMs: 5_000 })) && before === emulator.sends().length
      }, POLL)
      .toBe(true)
  }

  const failures = (): readonly FailedEvent[] => events.filter((event) => event.type === 'message.failed')
  return { ...client, receiver, errors, emulator, handler, events, failures, report, rest }
}

describe.each(onEachStore)('%s', (_, makeStore) => {
  test('re-sends a message unchanged, and counts both as one', async () => {
    const senders: unknown[] = []
    const { send, receiver, rest, failures, emulator, events } = await resending({
      receiving: { store: makeStore() },
      async fetch(url, init) {
        const made = new Request(url, init)
        senders.push(((await made.clone().json()) as { readonly from?: string }).from)
        return fetch(made)
      },
      // Undefined fields default to those of the first message.
      compose: () => ({ message: 'Once more', campaign: undefined, meta: undefined, withinMs: undefined }),
    })
    const notAfter = new Date(Date.now() + HOUR_MS)
    const how = { from: 'SHOP', reference: 'order 7', meta: { order: 7 }, withinMs: HOUR_MS, notAfter }
    const first = await send({ to: NETWORK_FAILURE, message: 'Hello', campaign: 'spring', type: 'bulk', ...how })
    await rest()
    const [{ messageId } = { messageId: '' }] = first.messages
    expect(emulator.sends().flatMap(({ recipients }) => recipients.map(({ to }) => to))).toEqual([
      NETWORK_FAILURE,
      NETWORK_FAILURE,
    ])
    expect(senders).toEqual(['SHOP', 'SHOP'])
    expect(failures()).toHaveLength(2)
    const second = failures().find(({ sent }) => sent?.resendOf !== undefined)
    expect(second?.sent).toMatchObject({
      resendOf: messageId,
      attempt: 2,
      to: NETWORK_FAILURE,
      from: 'SHOP',
      campaign: 'spring',
      type: 'bulk',
      meta: { order: 7 },
      notAfter,
      reference: `resend of ${messageId}`,
    })
    const left = (second?.sent?.overdueAt.getTime() ?? 0) - (second?.sent?.sentAt.getTime() ?? 0)
    expect(left).toBe(HOUR_MS)
    const account = await receiver.sends.account(everything)
    expect(account).toMatchObject({
      sent: 2,
      resent: 1,
      failed: { network_failure: 2 },
      waiting: 0,
      delivered: 0,
      unknown: 0,
    })
    // No further report of the first one is expected.
    expect((await receiver.sends.outstanding()).items).toEqual([])
    expect(events.filter(({ type }) => type === 'send.unknown')).toEqual([])
  })

  test('counts each send, and how many of them are repetitions', async () => {
    const { send, receiver, rest, report, failures, emulator } = await resending({
      receiving: { store: makeStore() },
      attempts: 3,
      compose: ({ sent }) => ({ message: 'Once more', ...(sent?.attempt === 2 && { to: DELIVERED, meta: 'last' }) }),
    })
    await send({ to: NETWORK_FAILURE, message: 'Hello' })
    await send({ to: NETWORK_FAILURE, message: 'Hello' })
    await send({ to: IMPOSSIBLE, message: 'Hello' })
    await send({ to: DELIVERED, message: 'Hello' })
    await rest()
    expect(emulator.sends()).toHaveLength(8)
    const counted = { sent: 8, resent: 4, delivered: 3, overdue: 0, waiting: 0 }
    const failed = { network_failure: 4 }
    expect(await receiver.sends.account(everything)).toMatchObject({
      ...counted,
      failed: { ...failed, delivery_impossible: 1 },
    })
    const messageId = failures().find(({ status }) => status === 'delivery_impossible')?.messageId
    await report({ messageId, status: 'success', timestamp: Math.floor(Date.now() / 1_000) + 5 })
    await rest()
    expect(await receiver.sends.account(everything)).toMatchObject({ ...counted, contradictory: 1, failed })
  })
})

describe('does not re-send', () => {
  const failedOnce = { status: 'network_failure', timestamp: Math.floor(Date.now() / 1_000) }

  test.each<readonly [what: string, report: object]>([
    ['a permanent failure', { status: 'delivery_impossible' }],
    ['an unknown word', { status: 'left_with_neighbour' }],
    ['a subscriber who was absent', { status: 'absent_subscriber' }],
    ['who has opted out', { status: 'stopped_by_user', statusCode: '18' }],
  ])('%s', async (_, fields) => {
    const { receiver, rest, report, emulator } = await resending()
    await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
    await report({ messageId: 'm', ...fields })
    await rest()
    expect(emulator.sends()).toEqual([])
  })

  test('a message that is transactional, too late, vetoed, or unknown', async () => {
    const asked: string[] = []
    const { receiver, rest, report, emulator } = await resending({
      compose({ messageId }) {
        asked.push(messageId)
        return undefined
      },
    })
    const of = (messageId: string) => ({ messages: [{ messageId, to: DELIVERED }] })
    await receiver.sends.expect({ ...of('code'), type: 'transactional' })
    await receiver.sends.expect(of('late'), { notAfter: new Date(Date.now() - 1) })
    await receiver.sends.expect(of('vetoed'))
    for (const messageId of ['code', 'late', 'vetoed', 'stranger']) await report({ ...failedOnce, messageId })
    await rest()
    expect(emulator.sends()).toEqual([])
    expect(asked).toEqual(['vetoed'])
  })

  test('airtime without its required fields', async () => {
    const { receiver, rest, report, emulator } = await resending({
      compose: ({ messageId }) =>
        messageId === 'whole' ? { message: 'Once more', extra: { amount: 10 } } : 'Once more',
    })
    for (const messageId of ['bare', 'whole']) {
      await receiver.sends.expect({ channel: 'airtime', messages: [{ messageId, to: DELIVERED }] })
      await report({ ...failedOnce, messageId })
    }
    await rest()
    expect(emulator.sends()).toHaveLength(1)
    expect(emulator.sends()).toMatchObject([{ channel: 'airtime' }])
    expect(await receiver.sends.account(everything)).toMatchObject({ sent: 3, resent: 1 })
  })

  test('airtime under another name of the service', async () => {
    const channels = { airtime: 'top-up' }
    const { airtime, rest, emulator } = await resending({ emulating: { channels }, channels })
    await airtime({ to: NETWORK_FAILURE, extra: { amount: 10 } })
    await rest()
    expect(emulator.sends()).toMatchObject([{ channel: 'top-up' }])
  })

  test('a message that reached its number of sends', async () => {
    const { send, rest, emulator } = await resending({ attempts: 1 })
    await send({ to: NETWORK_FAILURE, message: 'Hello' })
    await rest()
    expect(emulator.sends()).toHaveLength(1)
  })
})

test('re-sends once, even if the event runs again, and whatever is reported later', async () => {
  const { receiver, rest, report, emulator, handler, failures } = await resending()
  await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
  const timestamp = Math.floor(Date.now() / 1_000)
  await report({ messageId: 'm', status: 'network_failure', timestamp })
  await expect.poll(failures, POLL).toHaveLength(1)
  const [event] = failures()
  if (event === undefined) throw new Error('It is there.')
  const { signal } = new AbortController()
  await Promise.all(Array.from({ length: 10 }, () => handler(event, { signal })))
  for (let repeated = 0; repeated < 2; repeated += 1)
    await report({ messageId: 'm', status: 'expired', statusCode: '17', timestamp: timestamp + 1 })
  await rest()
  expect(emulator.sends()).toHaveLength(1)
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, resent: 1, delivered: 1 })
})

test('retries the event when surely nothing was sent', async () => {
  let requests = 0
  const { receiver, rest, report, emulator, errors } = await resending({
    async fetch(url, init) {
      if ((requests += 1) > 2) return fetch(url, init)
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      })
    },
  })
  await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
  await report({ messageId: 'm', status: 'network_failure' })
  await rest()
  expect(emulator.sends()).toHaveLength(1)
  expect(errors.map(({ code }) => code)).toEqual(['handler_failed', 'handler_failed'])
})

test('does not re-send a message that may have been sent, and reports it as unknown', async () => {
  const { receiver, rest, report, emulator, errors, events } = await resending({
    emulating: { sendFaults: { noAnswer: 1 } },
  })
  await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] }, { meta: 'mine' })
  await report({ messageId: 'm', status: 'network_failure' })
  await rest()
  expect(emulator.sends()).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'send.unknown')).toMatchObject([
    { reference: 'resend of m', sent: { resendOf: 'm', attempt: 2, meta: 'mine', to: DELIVERED } },
  ])
  expect(errors).toEqual([])
  const failed = { network_failure: 1 }
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, resent: 1, failed, unknown: 1 })
})

describe('with a delay', () => {
  test('waits without a concurrency slot, then sends', async () => {
    const { receiver, rest, report, emulator, errors } = await resending({
      delayMs: 800,
      receiving: { concurrency: 1 },
    })
    await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
    await report({ messageId: 'm', status: 'network_failure' })
    await expect.poll(async () => (await receiver.stats()).unsettled, POLL).toBe(1)
    expect(await receiver.stats()).toMatchObject({ running: 0 })
    expect(emulator.sends()).toEqual([])
    await rest()
    expect(emulator.sends()).toHaveLength(1)
    expect(errors).toEqual([])
  })

  test('does not send if the message was delivered meanwhile, or the send would be too late', async () => {
    const { receiver, rest, report, emulator, events } = await resending({ delayMs: 800 })
    await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
    const notAfter = new Date(Date.now() + 400)
    await receiver.sends.expect({ messages: [{ messageId: 'late', to: DELIVERED }] }, { notAfter })
    const timestamp = Math.floor(Date.now() / 1_000)
    await report({ messageId: 'm', status: 'network_failure', timestamp })
    await report({ messageId: 'late', status: 'network_failure', timestamp })
    await report({ messageId: 'm', status: 'success', timestamp: timestamp + 1 })
    await rest()
    expect(emulator.sends()).toEqual([])
    expect(events.filter(({ type }) => type === 'message.delivered')).toHaveLength(1)
  })

  test('defaults to a minute and doubles with each attempt', async () => {
    const { receiver, report, failures, send, rest, resend } = await resending({ delayMs: 0, attempts: 2 })
    await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] })
    await send({ to: NETWORK_FAILURE, message: 'Hello' })
    await rest()
    await report({ messageId: 'm', status: 'network_failure' })
    await rest()
    const context = { signal: new AbortController().signal }
    const waits = async (handler: ResendHandler) =>
      Promise.all(
        failures().map(async (event) => {
          const error = await handler(event, context).catch((reason: unknown) => reason)
          return [event.sent?.attempt ?? 1, error instanceof RetryLater ? Math.ceil(error.delayMs / 1_000) : undefined]
        }),
      )
    const compose = () => 'Once more'
    const pairs = await waits(resend({ compose, attempts: 3 }))
    expect(pairs.toSorted()).toEqual([
      [1, 60],
      [1, 60],
      [2, 120],
    ])
    expect(await waits(resend({ compose, attempts: 3, delayMs: 1_000_000 }))).toContainEqual([2, 2_000])
  })
})

test('keeps messages of projects apart', async () => {
  const projects = { [SHOP]: CREDENTIALS, Other: { authKey: 'b', signingSecret: 't' } }
  const { receiver, rest, report, emulator } = await resending({ receiving: { projects } })
  await receiver.sends.expect({ messages: [{ messageId: 'm', to: DELIVERED }] }, { project: SHOP })
  await report({ messageId: 'm', status: 'network_failure' })
  await rest()
  expect(emulator.sends()).toHaveLength(1)
  expect(await receiver.sends.account(everything)).toMatchObject({ sent: 2, resent: 1, delivered: 1 })
})

test('refuses invalid options', async () => {
  const { receiver } = await receiving()
  const { resend } = clientOf('http://127.0.0.1:1/', { receiver })
  const compose = () => 'Once more'
  expect(() => resend({ compose, attempts: 0 })).toThrow(/attempts is 0/)
  expect(() => resend({ compose, delayMs: -1 })).toThrow(/delayMs is -1/)
  const misspelt = { compose, atempts: 2 }
  expect(() => resend(misspelt)).toThrow(/Did you mean attempts/)
  expect(() => clientOf('http://127.0.0.1:1/').resend({ compose })).toThrow(/requires the option receiver/)
  await expect(receiver.sends.intend({ resendOf: 'unknown-message' })).rejects.toThrow(/no send is recorded/)
})
