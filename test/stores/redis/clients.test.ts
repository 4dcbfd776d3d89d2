/** Clients that ioredis pipelines by itself, or that are both client and subscriber. */
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, sample, samplesOf } from '../../../src/store-conformance/samples.ts'
import {
  clientFor,
  describeClients,
  describeRedis,
  freshPrefix,
  opened,
  testClient,
  useRedis,
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
})
