/** A web tier that only takes and workers that only hand over, on one database. */
import { createReceiver } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../../support/receiving.ts'
import { describePostgres, freshSchema, POSTGRES_URL } from './schema.ts'

const POLL = { timeout: 60_000 }
const PATIENT = { timeout: 90_000 }
const STATES = ['sent', 'delivered', 'read'] as const

describePostgres('roles', () => {
  test('what two web instances take, two workers hand over: once, in order, at once', PATIENT, async () => {
    const schema = freshSchema()
    // No polling: the workers must be woken.
    const store = () =>
      postgresStore({ connectionString: POSTGRES_URL, schema, maxConnections: 3, pollIntervalMs: 3_600_000 })
    const seen: string[] = []
    const web = [
      await receiving({ store: store(), dispatch: false }),
      await receiving({ store: store(), dispatch: false }),
    ]
    for (const { receiver } of web) {
      receiver.onAny(() => void seen.push('in the web tier'))
      await receiver.start()
    }
    const workers = [0, 1].map(() => {
      const receiver = createReceiver({
        credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
        store: store(),
        logger: false,
      })
      receiver.on('message.*', (event) => void seen.push(`${event.messageId} ${event.type}`))
      onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
      return receiver
    })
    await Promise.all(workers.map((worker) => worker.start()))
    const messageIds = Array.from({ length: 20 }, (_, index) => `m${index}`)
    const posts = messageIds.flatMap((messageId, index) =>
      STATES.flatMap((status) => [
        post(web[index % 2]?.url ?? '', callback.chatApp({ statuses: { message_id: messageId, status } })),
        post(web[(index + 1) % 2]?.url ?? '', callback.chatApp({ statuses: { message_id: messageId, status } })),
      ]),
    )
    expect(new Set((await Promise.all(posts)).map(({ status }) => status))).toEqual(new Set([204]))
    await expect.poll(() => seen.length, POLL).toBe(messageIds.length * STATES.length)
    for (const messageId of messageIds)
      expect(seen.filter((line) => line.startsWith(`${messageId} `))).toEqual(
        STATES.map((status) => `${messageId} message.${status}`),
      )
  })
})
