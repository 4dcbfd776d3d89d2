/** Reports in a custom shape: they are processed as any report, and a failing function loses no callback. */
import type { CallbackKind, ReceiverOptions, WebhookEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

type ReadReport = NonNullable<ReceiverOptions['readReport']>

const START = 1_760_000_000

async function reading(
  readReport: ReadReport,
  kind: CallbackKind = 'subscription',
  options: Partial<ReceiverOptions> = {},
) {
  const { receiver, url, errors } = await receiving({ ...options, readReport }, { kind })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  async function send(...bodies: readonly object[]): Promise<void> {
    for (const body of bodies) expect((await post(url, body)).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
  }
  return { receiver, events, errors, send }
}

/** A possible form of premium reports. */
const premium = (id: string, state: string, at: number) => ({ event: 'delivery', id, state, at: START + at })
const readPremium: ReadReport = ({ id, state, at }) => ({
  messageId: String(id),
  status: String(state),
  timestamp: Number(at),
})

test('are normalised, put in order, and count for the latest state', async () => {
  const { receiver, events, send } = await reading(readPremium)
  await send(premium('m-1', 'success', 5), premium('m-1', 'queued', 1), premium('m-1', 'success', 5))
  expect(events).toMatchObject([
    { type: 'message.delivered', messageId: 'm-1', status: 'success', carrier: 'carrierA', timestamp: START + 5 },
    { type: 'late', messageId: 'm-1', report: { type: 'message.queued', messageId: 'm-1' } },
  ])
  expect(await receiver.messageState('m-1')).toMatchObject({ type: 'message.delivered' })
})

test('their network, code and shape count', async () => {
  const networks = { b: 'carrierB' } as const
  const { events, send } = await reading(({ report }) => report as ReturnType<ReadReport>, 'payment', { networks })
  const words = [
    { messageId: 'm-1', status: 'expired', network: 'b' },
    { messageId: 'm-2', statusCode: 15 },
    { messageId: 'm-3', status: 'read', shape: 'chat-app' },
    { messageId: 'm-4', status: 'gone' },
  ]
  await send(...words.map((report) => ({ report })))
  // One waits for a missing step.
  const inOrder = words.map(({ messageId }) =>
    events.find((event) => 'messageId' in event && event.messageId === messageId),
  )
  expect(inOrder).toMatchObject([
    { type: 'message.failed', carrier: 'carrierB', failure: { cause: 'carrier_word' }, timestampSource: 'signature' },
    { type: 'message.delivered', statusCode: 15 },
    { type: 'message.read', status: 'read' },
    { type: 'message.failed', anomalies: ['unknown_word'] },
  ])
})

test('reads a report as usual when the function returns nothing', async () => {
  const { events, errors, send } = await reading(() => undefined)
  await send({ event: 'delivery' }, { event: 'activate' })
  expect(events.map(({ type }) => type)).toEqual(['subscription.delivery', 'subscription.activate'])
  expect(errors).toEqual([])
})

test('takes precedence over the documented shapes on the URL of reports', async () => {
  const { events, send } = await reading(
    ({ id }) => (id === undefined ? undefined : { messageId: 'own', status: 'sent' }),
    'status',
  )
  await send({ id: 1, messageId: 'm-1', status: 'success' }, { messageId: 'm-2', status: 'success' })
  expect(events).toMatchObject([
    { type: 'message.sent', messageId: 'own' },
    { type: 'message.delivered', messageId: 'm-2' },
  ])
})

test('gets its own copy of the payload, without the key', async () => {
  const seen: unknown[] = []
  const { events, send } = await reading((payload, kind) => {
    seen.push({ ...payload }, kind)
    Object.assign(payload, { event: 'activate', more: AUTH_KEY })
    return undefined
  })
  await send({ event: 'delivery', inner: { a: 1 } })
  expect(seen).toEqual([{ event: 'delivery', inner: { a: 1 } }, 'subscription'])
  expect(events).toMatchObject([{ type: 'subscription.delivery', data: { event: 'delivery' } }])
  expect(events[0]).not.toHaveProperty('data.more')
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['rejects', () => Promise.reject(new Error('no'))],
  ['returns a text', () => 'm-1'],
  ['returns no message id', () => ({ status: 'success' })],
  ['returns a blank message id', () => ({ messageId: ' ', status: 'success' })],
  ['returns neither word nor code', () => ({ messageId: 'm-1', statusCode: 'none' })],
  ['returns a shape that does not exist', () => ({ messageId: 'm-1', status: 'success', shape: 'fax' })],
  [
    'returns what throws when it is read',
    () => ({
      get messageId() {
        throw new Error('no')
      },
    }),
  ],
])('a function that %s is reported, and the callback is read as usual', async (_what, act) => {
  const { events, errors, send } = await reading(act as ReadReport)
  await send({ event: 'delivery' })
  expect(events.map(({ type }) => type)).toEqual(['subscription.delivery'])
  expect(errors).toMatchObject([{ code: 'read_report_failed', cause: expect.any(Error) as Error }])
})
