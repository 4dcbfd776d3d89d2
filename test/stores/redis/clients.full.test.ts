/** Cluster clients that ioredis pipelines by itself, that are both client and subscriber, or that end while the store is open. */
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { admit, sample, samplesOf } from '../../../src/store-conformance/samples.ts'
import type { MessageStore } from '../../../src/inbox/store.ts'
import type { RedisServer } from '../../support/servers/redis.ts'
import { useCluster } from './own-cluster.ts'
import {
  CLIENTS,
  clusterClientFor,
  describeRedis,
  freshPrefix,
  opened,
  testClient,
  type ClientName,
} from './own-redis.ts'

const TIMEOUT = { timeout: 180_000 }
const POLL = { timeout: 90_000, interval: 100 }
const MANY = 90

describeRedis('clients of a cluster', () => {
  const nodes = useCluster()

  test.each(CLIENTS)('%s, also as subscriber, with automatic pipelines, and connected again', TIMEOUT, async (name) => {
    const prefix = freshPrefix()
    const client = givingUp(name, nodes())
    let notified = 0
    const host = { onWork: () => (notified += 1) }
    const options = { subscriber: client.client, prefix, pollIntervalMs: 3_600_000, commandTimeoutMs: 2_000 }
    const open = await opened(client, options, host)
    const other = await opened(clusterClientFor(name, nodes()), { prefix })
    expect(await admitted(open, 'a')).toEqual(new Set(['new']))
    await admit(other, [sample()])
    await expect.poll(() => notified, POLL).toBeGreaterThan(0)

    await Promise.all(nodes().map((node) => node.stop()))
    await expect(admitted(open, 'b')).rejects.toMatchObject({ code: 'store_slow' })
    await Promise.all(nodes().map((node) => node.start()))
    await expect.poll(async () => admitted(open, 'b').catch(() => undefined), POLL).toEqual(new Set(['duplicate']))

    await client.quit()
    await expect.poll(async () => admitted(open, 'c').catch(() => undefined), POLL).toEqual(new Set(['duplicate']))
  })

  test('node-redis leaves no connection to a cluster of which a node has ended', TIMEOUT, async () => {
    const client = clusterOf(nodes())
    const open = await opened(testClient(client), { commandTimeoutMs: 2_000 })
    const masters = client.masters.map((master) => master.client)
    const openNodes = (): number => masters.filter((node) => node?.isOpen).length
    expect(openNodes()).toBe(nodes().length)
    const [node] = nodes()
    onTestFinished(async () => node?.start())
    await node?.stop()
    await expect.poll(openNodes, POLL).toBeLessThan(nodes().length)
    await open.close()
    expect(openNodes()).toBe(0)
  })
})

/** In every partition. A repetition of what was admitted in part is a duplicate in the end. */
async function admitted(open: MessageStore, prefix: string): Promise<ReadonlySet<string> | undefined> {
  return new Set(await admit(open, samplesOf(MANY, prefix)))
}

function clusterOf(nodes: readonly RedisServer[]) {
  return createCluster({
    rootNodes: nodes.map((node) => ({ url: node.url() })),
    defaults: { password: nodes[0]?.password ?? '', socket: { reconnectStrategy: false } },
  })
}

/** A client that does not reconnect by itself. */
function givingUp(name: ClientName, nodes: readonly RedisServer[]) {
  if (name === 'redis') {
    const client = clusterOf(nodes)
    return { ...testClient(client), quit: () => client.close() }
  }
  const client = new Cluster(
    nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    {
      lazyConnect: true,
      enableAutoPipelining: true,
      clusterRetryStrategy: () => null,
      redisOptions: { password: nodes[0]?.password ?? '', enableAutoPipelining: true },
    },
  )
  return { ...testClient(client), quit: () => client.quit() }
}
