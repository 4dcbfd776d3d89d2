/** The shape of a report matches its payload's fields, also after corruption. */
import { memoryStore, type LateEvent, type ReportEvent, type ReportShape, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving, type SomeOptions } from '../support/receiving.ts'

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

test('each of the two delivery callbacks has its own shape', async () => {
  const { receiver, reportsOf } = await reporting()
  const events = await reportsOf(
    callback.smsDelivery({ messageId: 'm-1', network: 'carrier-a' }),
    callback.chatApp({ statuses: { message_id: 'm-2', status: 'sent', recipient: '254711000000' } }),
  )
  expect(events.map((event) => [event.shape, distinctiveField(event)])).toEqual([
    ['sms', 'carrier-a'],
    ['chat-app', '254711000000'],
  ])
  expect(await receiver.messageState('m-2')).toMatchObject({ shape: 'chat-app' })
})

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

/** The stored event is unreadable by the time it is dispatched. */
function damagingStore(raw: Buffer): Store {
  const { capabilities, open } = memoryStore()
  return {
    capabilities,
    async open(host) {
      const opened = await open(host)
      return {
        ...opened,
        async claim(request) {
          const { claims, ...rest } = await opened.claim(request)
          return { ...rest, claims: claims.map((claim) => ({ ...claim, raw })) }
        },
      }
    },
  }
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
