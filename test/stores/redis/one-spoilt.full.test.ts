/** A running receiver, of whose 200 events that wait somebody spoils one. */
import { Redis } from 'ioredis'
import { redisStore } from 'messaging-webhooks/redis'
import { callback } from 'messaging-webhooks/testing'
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { clientFor, freshPrefix, describeClients, useRedis } from './own-redis.ts'

const PATIENT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }
const SPOILT = 'message-150'

const messages = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `message-${from + index}`)

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })

  test.each([
    [
      'no JSON',
      (old: Buffer) => Buffer.concat([Buffer.from('{"a body that nobody may see'), old.subarray(old.indexOf(10))]),
    ],
    ['no record', () => Buffer.from('a body that nobody may see')],
    ['empty', () => Buffer.alloc(0)],
  ])('everything but the one that is %s is handled, and that one is a dead letter', PATIENT, async (_, spoil) => {
    const prefix = freshPrefix()
    const { client, end } = clientFor(name, server().url())
    onTestFinished(end)
    const { receiver, url, errors } = await receiving({
      store: redisStore({ client, prefix, commandTimeoutMs: 20_000 }),
      storeTimeoutMs: 30_000,
    })
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const handled: string[] = []
    receiver.on('message.*', async (event) => {
      await gate
      handled.push(event.messageId)
    })
    await receiver.start()
    const take = async (messageIds: readonly string[]): Promise<void> => {
      const answers = await Promise.all(messageIds.map((messageId) => post(url, callback.smsDelivery({ messageId }))))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    }
    await take(messages(0, 200))

    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const [, keys] = await admin.scan('0', 'MATCH', `${prefix}:*:p:*`, 'COUNT', 1_000_000)
    for (const key of keys) {
      const old = await admin.getBuffer(key)
      if (old?.includes(`"${SPOILT}"`) === true) await admin.set(key, spoil(old))
    }
    await take(messages(200, 300))
    open()

    const others = messages(0, 300).filter((messageId) => messageId !== SPOILT)
    await expect.poll(() => handled.toSorted(), POLL).toEqual(others.toSorted())
    await expect.poll(() => receiver.stats(), POLL).toMatchObject({ unsettled: 0, deadLetters: 1 })
    const { items } = await receiver.deadLetters.list()
    expect(items.map(({ event }) => event)).toMatchObject([{ type: 'unrecognized', problem: 'damaged' }])
    expect(errors.map(({ code }) => code)).toEqual(['event_damaged'])
    expect(errors[0]?.message).toContain(items[0]?.id)
    expect(inspect(errors, { depth: 10, showHidden: true })).not.toContain('nobody may see')
  })
})
