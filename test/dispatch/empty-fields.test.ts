/** Empty fields of a callback are absent from its event, so handlers need not compare with an empty text. */
import { createHash } from 'node:crypto'
import type { ReportEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'

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
