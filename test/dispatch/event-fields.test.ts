/** The fields of an event: its shape, its time and its payload, also where the callback is empty or the stored event is damaged. */
import { createHash } from 'node:crypto'
import { type ReportEvent, type Store, type WebhookEvent } from 'messaging-webhooks'
import type { LateEvent } from '../../src/public/events.ts'
import type { ReportShape } from '../../src/public/report-payloads.ts'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving, type SomeOptions, AUTH_KEY } from '../support/receiving.ts'
import { brokenStore, withoutLeases } from '../support/stores.ts'

async function reporting(options: SomeOptions = {}) {
  const { receiver, url } = await receiving(options, { kind: 'status' })
  const events: ReportEvent[] = []
  receiver.on('message.*', (event) => void events.push(event))
  receiver.on('late', ({ report }) => void events.push(report))
  return {
    receiver,
    async reportsOf(...bodies: readonly object[]): Promise<readonly ReportEvent[]> {
      for (const body of bodies) expect((await post(url, body)).status).toBe(204)
      expect(await receiver.drain()).toBe(true)
      return events
    },
  }
}

/** A field that only one of the shapes has. */
function distinctiveField(event: ReportEvent): unknown {
  return event.shape === 'sms' ? event.payload.network : event.payload.statuses?.recipient
}

test("a report read by the user's code has the shape of its fields, unless the user's code sets another", async () => {
  const shapes: (ReportShape | undefined)[] = [undefined, undefined, 'chat-app']
  const { reportsOf } = await reporting({
    readReport: ({ id }) => ({ messageId: String(id), status: 'delivered', shape: shapes.shift() }),
    ordering: { gapTimeoutMs: 0 },
  })
  const events = await reportsOf({ id: 'm-1' }, { id: 'm-2', statuses: {} }, { id: 'm-3' })
  expect(events.map(({ shape }) => shape)).toEqual(['sms', 'chat-app', 'chat-app'])
})

test('a late event names its message and the newer report, and contains the late report', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  const late: LateEvent[] = []
  receiver.on('late', (event) => void late.push(event))
  const report = (status: string, timestamp: number) =>
    callback.smsDelivery({ messageId: 'm-1', channel: 'sms', status, timestamp })
  await post(url, report('success', 1_700_000_005))
  await receiver.drain()
  await post(url, report('queued', 1_700_000_000))
  expect(await receiver.drain()).toBe(true)
  const [event] = late
  expect(event).toMatchObject({ type: 'late', messageId: 'm-1', channel: 'sms', timestamp: 1_700_000_000 })
  expect(event?.report).toMatchObject({ type: 'message.queued', messageId: 'm-1', status: 'queued', shape: 'sms' })
  expect(event?.payload).toEqual(event?.report.payload)
})

/** A store in which the bytes of an event have changed by the time it is leased. */
function damagingStore(raw: Buffer): Store {
  return brokenStore({
    admit: withoutLeases,
    async lease(_, go) {
      const answers = await go()
      return answers.map((granted) => granted?.payload && { ...granted, payload: { ...granted.payload, raw } })
    },
  })
}

test.each(['{', '[1]', '"text"', 'null', ''])(
  'with damaged bytes (%s) the payload is an empty object',
  async (left) => {
    const { reportsOf } = await reporting({ store: damagingStore(Buffer.from(left)) })
    const [event] = await reportsOf(callback.smsDelivery({ messageId: 'm-1' }))
    expect(event).toMatchObject({ type: 'message.delivered', messageId: 'm-1', payload: {} })
    expect(event?.payload).toEqual({})
    expect(event && distinctiveField(event)).toBeUndefined()
  },
)

test('a key masked in the middle of an escape corrupts the readable payload, and costs no event', async () => {
  // The text has a line end followed by the key without its first letter, so the bytes contain the key.
  const authKey = `n${AUTH_KEY}`
  const credentials = { authKey, signingSecret: 'signing-secret-of-the-tests' }
  const { receiver, url } = await receiving({ credentials }, { kind: 'status' })
  const seen: unknown[] = []
  receiver.on('unrecognized', ({ problem, payload }) => void seen.push({ problem, payload }))
  const body = `{"messageId":"m","channel":"sms","status":"success","note":"\\${authKey}","timestamp":1700000000}`
  expect(await post(url, body)).toMatchObject({ status: 204 })
  expect(await receiver.drain()).toBe(true)
  expect(seen).toEqual([{ problem: 'not_json', payload: undefined }])
})

const TIMESTAMP = 1_700_000_000
const CODE_ALONE = { project: 'My Shop', messageId: 'm-1', statusCode: 18, timestamp: TIMESTAMP }
const EMPTY = { channel: '', status: '', network: '', description: '' }

test.each([
  ['empty texts', { ...CODE_ALONE, ...EMPTY }],
  ['no fields', CODE_ALONE],
  [
    'empty texts of the chat-app',
    { ...CODE_ALONE, channel: '', statuses: { message_id: 'm-1', status: '', recipient: '', error: '' } },
  ],
])('%s', async (_, body) => {
  const asked: unknown[] = []
  const dedupeKey = ({ status }: { readonly status: string | undefined }): undefined => void asked.push(status)
  const { receiver, url } = await receiving({ dedupeKey }, { kind: 'status' })
  const events: ReportEvent[] = []
  receiver.on('message.*', (event) => void events.push(event))
  await post(url, body)
  await receiver.drain()
  expect(events).toMatchObject([{ type: 'message.failed', statusCode: 18, payload: body }])
  for (const seen of [...events, await receiver.messageState('m-1')])
    for (const name of ['channel', 'status', 'network', 'recipient', 'failure.reason'])
      expect(seen).not.toHaveProperty(name)
  expect(asked).toEqual([undefined])
})

test('the idempotency key is unchanged: an empty word and a missing one are the same event', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  const ids: string[] = []
  receiver.on('message.*', ({ id }) => void ids.push(id))
  await post(url, CODE_ALONE)
  await post(url, { ...CODE_ALONE, ...EMPTY })
  await receiver.drain()
  expect((await receiver.stats()).duplicates).toBe(1)
  // Each field with its length before it: the word is included, and empty.
  const fields = `6:report7:My Shop3:m-10:2:18${`${TIMESTAMP}`.length}:${TIMESTAMP}-`
  const digest = createHash('sha256').update(fields).digest('hex')
  expect(ids).toEqual([digest.slice(0, 32)])
})

const NOW = 1_760_000_000

async function timing(kind: 'status' | 'payment') {
  let nowMs = NOW * 1_000
  const { receiver, url } = await receiving({ clock: () => nowMs }, { kind })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  return {
    receiver,
    url,
    events,
    later: (seconds: number) => void (nowMs += seconds * 1_000),
    /** Proved by its authKey alone, which has no time. */
    async unsigned(body: object): Promise<void> {
      const text = JSON.stringify({ ...body, authKey: AUTH_KEY })
      expect((await fetch(url, { method: 'POST', body: text })).status).toBe(204)
    },
  }
}

const UNKNOWN = { occurredAt: undefined, timestamp: undefined, timestampSource: 'arrival' }

test('without a time in payload or signature, only the arrival time is known', async () => {
  const { receiver, events, unsigned } = await timing('payment')
  await unsigned({ amount: 5 })
  await receiver.drain()
  expect(events).toMatchObject([{ ...UNKNOWN, receivedAt: new Date(NOW * 1_000) }])
  expect(JSON.parse(JSON.stringify(events[0]))).not.toHaveProperty('occurredAt')
})

test('the state of a message has no time either, and the arrival decides its order', async () => {
  const { receiver, later, unsigned } = await timing('status')
  const report = (status: string) => callback.smsDelivery({ messageId: 'm-1', status, timestamp: undefined })
  await unsigned(report('success'))
  later(5)
  await unsigned(report('delivery_impossible'))
  const state = await receiver.messageState('m-1')
  expect(state).toMatchObject({ ...UNKNOWN, type: 'message.failed', receivedAt: new Date((NOW + 5) * 1_000) })
  expect(state?.reports).toMatchObject([
    { ...UNKNOWN, receivedAt: new Date(NOW * 1_000) },
    { ...UNKNOWN, receivedAt: new Date((NOW + 5) * 1_000) },
  ])
})

test.each([
  ['payload', NOW - 60],
  ['signature', NOW - 10],
] as const)('by the %s it is known in both forms', async (timestampSource, timestamp) => {
  const { receiver, url, events } = await timing('status')
  const own = timestampSource === 'payload' ? timestamp : undefined
  await post(url, callback.smsDelivery({ messageId: 'm-1', timestamp: own }), { timestamp: NOW - 10 })
  await receiver.drain()
  const known = { timestamp, timestampSource, occurredAt: new Date(timestamp * 1_000) }
  expect(events).toMatchObject([known])
  expect(await receiver.messageState('m-1')).toMatchObject(known)
})
