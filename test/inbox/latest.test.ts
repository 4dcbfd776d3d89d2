import fc from 'fast-check'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { mergeLatest, type MessageLatest } from '../../src/messages/order.ts'
import { post, receiving } from '../support/receiving.ts'

const record = (timestamp: number) =>
  ({
    project: undefined,
    kind: undefined,
    timestamp,
    timestampSource: 'payload',
    receivedAtMs: 0,
    proof: 'both',
  }) as const

/** Reports of one message: the order key is the time, and every second one is final. */
const reports = (times: readonly number[]) =>
  times.map((time) => ({ order: String(time).padStart(4, '0'), final: time % 2 === 0, record: record(time) }))

const mergeAll = (merged: readonly ReturnType<typeof reports>[number][]): MessageLatest | undefined =>
  merged.reduce<MessageLatest | undefined>(mergeLatest, undefined)

test('the merge is the same for every order and repetition, also beyond its bound', () => {
  const times = fc.uniqueArray(fc.nat({ max: 400 }), { minLength: 1, maxLength: 200 })
  const shuffled = times.chain((all) =>
    fc.tuple(
      fc.constant(all),
      fc.shuffledSubarray([...all, ...all], { minLength: 2 * all.length, maxLength: 2 * all.length }),
    ),
  )
  fc.assert(
    fc.property(shuffled, ([all, again]) => {
      const merged = mergeAll(reports(again))
      expect(merged).toEqual(mergeAll(reports(all)))
      expect(merged?.record.timestamp).toBe(Math.max(...all))
      const finals = all.filter((time) => time % 2 === 0).sort((a, b) => a - b)
      expect(merged?.finals.map((final) => final.record.timestamp)).toEqual(finals.slice(-64))
    }),
    { numRuns: 200 },
  )
})

test('a success hides no failure of another part, and an unknown part has no state', async () => {
  const { receiver, url } = await receiving()
  const timestamp = Math.floor(Date.now() / 1_000)
  await post(url, callback.smsDelivery({ messageId: 'long', status: 'delivery_impossible', timestamp }))
  await post(url, callback.smsDelivery({ messageId: 'long', status: 'success', timestamp: timestamp + 1 }))
  const latest = await receiver.messageState('long')
  expect(latest).toMatchObject({
    type: 'message.delivered',
    status: 'success',
    occurredAt: new Date((timestamp + 1) * 1_000),
  })
  expect(latest?.reports).toMatchObject([
    { type: 'message.failed', failure: { kind: 'permanent', resend: false }, timestamp },
    { type: 'message.delivered', timestamp: timestamp + 1 },
  ])
  expect(await receiver.messageState('another')).toBeUndefined()
})

test('lists every final report: a later success hides no expired part, and read is one; a failure that the service retries is not', async () => {
  const { receiver, url } = await receiving()
  const timestamp = Math.floor(Date.now() / 1_000)
  const wordsOf = async (messageId: string): Promise<readonly unknown[] | undefined> =>
    (await receiver.messageState(messageId))?.reports.map(({ status, statusCode }) => status ?? statusCode)
  const failThenDeliver = async (messageId: string): Promise<void> => {
    await post(url, callback.smsDelivery({ messageId, status: undefined, statusCode: 17, timestamp }))
    await post(url, callback.smsDelivery({ messageId, status: 'success', timestamp: timestamp + 1 }))
  }
  await failThenDeliver('parts')
  expect(await wordsOf('parts')).toEqual([17, 'success'])
  await receiver.sends.expect({ type: 'transactional', messages: [{ messageId: 'otp' }] })
  await failThenDeliver('otp')
  expect(await wordsOf('otp')).toEqual(['success'])
  for (const status of ['sent', 'delivered', 'read'])
    await post(url, callback.chatApp({ statuses: { message_id: 'chat', status } }))
  expect(await wordsOf('chat')).toEqual(['delivered', 'read'])
})
