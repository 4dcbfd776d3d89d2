/** A cluster of a test file's own: three masters on loopback, each with a third of the slots. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, vi } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { startRedis, type RedisServer } from '../../support/servers/redis.ts'

const SLOTS = 16_384
const NODES = 3
const STARTING_MS = 120_000
/** Its settling takes gossip between the nodes. */
const POLL = { timeout: 60_000, interval: 100 }

async function startNode(): Promise<RedisServer> {
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-port': String(await freePort()),
    // A killed process loses nothing by that.
    appendfsync: 'no',
    // What is on the others goes on while one is away.
    'cluster-require-full-coverage': 'no',
  }
  return startRedis({ settings })
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  const clients = nodes.map((node) => new Redis(node.url()))
  try {
    for (const [index, client] of clients.entries()) {
      const from = Math.floor((SLOTS * index) / NODES)
      const to = Math.floor((SLOTS * (index + 1)) / NODES) - 1
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
      // So that no two claim the same epoch.
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
    }
    const [first] = nodes
    const [, busPort] = (await clients[0]?.config('GET', 'cluster-port')) as readonly string[]
    for (const client of clients.slice(1))
      await client.call('CLUSTER', 'MEET', '127.0.0.1', String(first?.port), String(busPort))
    for (const client of clients)
      await vi.waitFor(async () => {
        const info = String(await client.call('CLUSTER', 'INFO'))
        // Not the state: it is ok as soon as a node knows of its own slots, for the coverage need not be full.
        const whole = [`cluster_slots_ok:${SLOTS}`, `cluster_known_nodes:${NODES}`, 'cluster_state:ok']
        if (whole.some((line) => !info.includes(line))) throw new Error(info)
      }, POLL)
  } finally {
    for (const client of clients) client.disconnect()
  }
}

/** Starts it before the tests of a file, and ends it after them. */
export function useCluster(): () => readonly RedisServer[] {
  let nodes: readonly RedisServer[] = []
  beforeAll(async () => {
    nodes = await Promise.all(Array.from({ length: NODES }, startNode))
    await join(nodes)
  }, STARTING_MS)
  afterAll(() => Promise.all(nodes.map((node) => node.remove())), STARTING_MS)
  return () => nodes
}
