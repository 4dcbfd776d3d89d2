/** A client that looked at the slots of a cluster while a part of them was given to nobody. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { useCluster } from './own-cluster.ts'
import { CLIENTS, clusterClientFor, opened, describeRedis } from './own-redis.ts'

const MANY = 90

describeRedis('slots that nobody had when the client looked', () => {
  const nodes = useCluster()

  test.each(CLIENTS)('with the client %s', { timeout: 60_000 }, async (name) => {
    const [node] = nodes()
    if (node === undefined) throw new Error('There is no cluster.')
    const direct = new Redis(node.url())
    onTestFinished(() => direct.disconnect())
    const slots = ['0', '5460'] as const
    await direct.call('CLUSTER', 'DELSLOTSRANGE', ...slots)
    const client = clusterClientFor(name, [node])
    const connecting = client.client.connect()
    onTestFinished(() => client.end())
    await connecting
    await direct.call('CLUSTER', 'ADDSLOTSRANGE', ...slots)
    const open = await opened(client)
    const events = Array.from({ length: MANY }, (_, index) => sample({ message: `m${index}` }))
    expect(new Set(await open.admit(events, START_MS))).toEqual(new Set(['new']))
  })
})
