/** A Redis Cluster for one test: three masters on loopback, each with a third of the slots. */
import { Redis } from 'ioredis'
import { vi } from 'vitest'
import { freePort } from '../free-port.ts'
import type { Env } from './own-server.ts'
import { startRedis, type RedisServer } from './redis.ts'
import { REPLICABLE } from './redis-replica.ts'

export const SLOTS = 16_384
export const MASTERS = 3
/** The nodes need time to exchange their state by gossip. */
const POLL = { timeout: 60_000, interval: 100 }

async function startNode(settings: Readonly<Record<string, string>>, env?: Env): Promise<RedisServer> {
  return startRedis({
    env,
    settings: {
      ...REPLICABLE,
      'cluster-enabled': 'yes',
      'cluster-port': String(await freePort()),
      // Safe here: data written before a kill survives in the operating system.
      appendfsync: 'no',
      // The other nodes keep serving their slots while one is unavailable.
      'cluster-require-full-coverage': 'no',
      ...settings,
    },
  })
}

async function withClients<T>(
  nodes: readonly RedisServer[],
  work: (clients: readonly Redis[]) => Promise<T>,
): Promise<T> {
  const clients = nodes.map((node) => new Redis(node.url()))
  try {
    return await work(clients)
  } finally {
    for (const client of clients) client.disconnect()
  }
}

/** Introduces the nodes to the first one, and waits until each node knows all others. */
async function meet(clients: readonly Redis[], first: RedisServer | undefined): Promise<void> {
  const [, busPort] = (await clients[0]?.config('GET', 'cluster-port')) as readonly string[]
  for (const client of clients.slice(1))
    await client.call('CLUSTER', 'MEET', '127.0.0.1', String(first?.port), String(busPort))
  for (const client of clients)
    await vi.waitFor(async () => {
      const info = String(await client.call('CLUSTER', 'INFO'))
      // `cluster_state` is not enough: without required full coverage it is ok as soon as a node knows its own slots.
      const whole = [`cluster_slots_ok:${SLOTS}`, `cluster_known_nodes:${clients.length}`, 'cluster_state:ok']
      if (whole.some((line) => !info.includes(line))) throw new Error(info)
    }, POLL)
}

/** `settings` go on the command line of each node; `envs`: further variables of each. */
export async function startRedisCluster(
  settings: Readonly<Record<string, string>> = {},
  envs: readonly Env[] = [],
): Promise<readonly RedisServer[]> {
  const nodes = await Promise.all(Array.from({ length: MASTERS }, (_, index) => startNode(settings, envs[index])))
  await withClients(nodes, async (clients) => {
    for (const [index, client] of clients.entries()) {
      const from = Math.floor((SLOTS * index) / MASTERS)
      const to = Math.floor((SLOTS * (index + 1)) / MASTERS) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
      // So that no two nodes claim the same epoch.
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
    }
    await meet(clients, nodes[0])
  })
  return nodes
}

/** One replica per master, in the same order. */
export async function addReplicas(
  masters: readonly RedisServer[],
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly RedisServer[]> {
  const replicas = await Promise.all(masters.map(() => startNode(settings)))
  await withClients([...masters, ...replicas], async (clients) => {
    await meet(clients, masters[0])
    for (const [index, client] of clients.slice(masters.length).entries())
      await client.call('CLUSTER', 'REPLICATE', String(await clients[index]?.call('CLUSTER', 'MYID')))
    for (const client of clients.slice(0, masters.length))
      await vi.waitFor(async () => {
        if ((await client.wait(1, 500)) < 1) throw new Error('A master has no replica yet.')
      }, POLL)
  })
  return replicas
}
