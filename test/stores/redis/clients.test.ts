/** Clients that ioredis pipelines by itself, that are both client and subscriber, or that end while the store is open. */
import { Redis } from 'ioredis'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { redisStore } from 'messaging-webhooks/redis'
import { callback } from 'messaging-webhooks/testing'
import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, sample, samplesOf } from '../../../src/store-conformance/samples.ts'
import { post, receiving } from '../../support/receiving.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import {
  clientFor,
  describeClients,
  describeRedis,
  freshPrefix,
  opened,
  testClient,
  useRedis,
  type ClientName,
} from './own-redis.ts'

const TIMEOUT = { timeout: 60_000 }
const POLL = { timeout: 30_000 }
/** Only the channel can notify in time. */
const UNPOLLED = { pollIntervalMs: 3_600_000 }

describeRedis('automatic pipelines', () => {
  const server = useRedis({ appendfsync: 'no' })

  test('ioredis with enableAutoPipelining admits and dispatches', TIMEOUT, async () => {
    const client = new Redis(server().url(), { lazyConnect: true, enableAutoPipelining: true, keyPrefix: 'own:' })
    const open = await opened(testClient(client))
    expect(await admit(open, samplesOf(70))).toHaveLength(70)
    expect(await dispatchAll(open)).toHaveLength(70)
  })
})

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })

  test('one client as client and subscriber is notified of work', TIMEOUT, async () => {
    const prefix = freshPrefix()
    const one = clientFor(name, server().url())
    let notified = 0
    const host = { onWork: () => (notified += 1) }
    const open = await opened(one, { subscriber: one.client, prefix, ...UNPOLLED }, host)
    await admit(await opened(clientFor(name, server().url()), { prefix }), [sample()])
    await expect.poll(() => notified, POLL).toBeGreaterThan(0)
    expect(await admit(open, [sample()])).toEqual(['duplicate'])
  })

  test('the store connects its clients again that stopped reconnecting or were closed', TIMEOUT, async () => {
    const proxy = await startTcpProxy(server().port)
    onTestFinished(() => proxy.close())
    const prefix = freshPrefix()
    const url = server().url({ port: proxy.port })
    const [client, subscriber] = [givingUp(name, url), givingUp(name, url)]
    let notified = 0
    const host = { onWork: () => (notified += 1) }
    const open = await opened(client, { subscriber: subscriber.client, prefix, ...UNPOLLED }, host)
    const other = await opened(clientFor(name, server().url()), { prefix })
    async function checkBoth(message: string): Promise<void> {
      expect(await admit(open, [sample({ message })])).toEqual(['new'])
      let at = 1
      const before = notified
      async function notify(): Promise<number> {
        await admit(other, [sample({ message, at: (at += 1) })])
        return notified
      }
      await expect.poll(notify, POLL).toBeGreaterThan(before)
    }
    await checkBoth('a')
    proxy.mode = 'refuses'
    proxy.cut()
    await expect.poll(() => [client.hasEnded(), subscriber.hasEnded()], POLL).toEqual([true, true])
    proxy.mode = 'passes'
    await checkBoth('b')
    await client.quit()
    await subscriber.quit()
    await checkBoth('c')
  })

  test(
    "names the cause at once while the application's client has ended, and works when it is back",
    TIMEOUT,
    async () => {
      const application = givingUp(name, server().url())
      await application.client.connect()
      const store = redisStore({ client: application.client, prefix: freshPrefix() })
      const { receiver, url, errors } = await receiving({ store, spool: false })
      onTestFinished(() => application.end())
      await receiver.start()
      const send = async (messageId: string) => (await post(url, callback.smsDelivery({ messageId }))).status
      expect(await send('a')).toBe(204)
      await application.quit()
      expect(await send('b')).toBe(503)
      const codes = (): ReadonlySet<string> => new Set(errors.map(({ code }: MessagingWebhooksError) => code))
      await expect.poll(codes, POLL).toEqual(new Set(['store_client_ended']))
      const reasons = async () => (await receiver.health()).reasons.map(({ code }) => code)
      await expect.poll(reasons, POLL).toEqual(['nowhere_to_keep', 'store_client_ended'])
      await application.client.connect()
      await expect.poll(reasons, POLL).toEqual([])
      expect(await send('c')).toBe(204)
    },
  )
})

/** A client that does not reconnect by itself. */
function givingUp(name: ClientName, url: string) {
  if (name === 'ioredis') {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
    return { ...testClient(client), quit: () => client.quit(), hasEnded: () => client.status === 'end' }
  }
  const client = createClient({ url, socket: { reconnectStrategy: false } })
  return { ...testClient(client), quit: () => client.close(), hasEnded: () => !client.isOpen }
}
