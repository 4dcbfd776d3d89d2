/** A Redis server for one test file, clients for it, and stores. */
import { randomBytes } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'
import type { MessageStore, Store, StoreCapabilities, StoreHost } from '../../../src/inbox/store.ts'
import type { RedisClient } from '../../../src/stores/redis/server.ts'
import { redisStore, type RedisStoreOptions } from '../../../src/stores/redis/store.ts'
import { hasRedis, startRedis, type RedisServer } from '../../support/servers/redis.ts'
import { titleWith } from '../../support/skipping.ts'
import { hostOf } from '../../support/stores.ts'

const missing = hasRedis() ? undefined : 'no redis-server'
if (missing !== undefined && process.env['CI'] === 'true')
  throw new Error('There is no redis-server, and the Redis store must be tested in CI.')

/** Groups tests that need a server. Without one they are skipped by name, or fail with CI=true. */
export function describeRedis(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(titleWith(missing, name), tests)
}

/** The same tests with a client of each package. */
export function describeClients(tests: (name: ClientName) => void): void {
  for (const name of CLIENTS) describeRedis(`with the client ${name}`, () => tests(name))
}

interface TestClient {
  readonly client: RedisClient
  end(): Promise<void>
}

export const CLIENTS = ['redis', 'ioredis'] as const
export type ClientName = (typeof CLIENTS)[number]

export function testClient(
  client: Redis | Cluster | ReturnType<typeof createClient> | ReturnType<typeof createCluster>,
): TestClient {
  return {
    client,
    async end() {
      if (client instanceof Redis || client instanceof Cluster) client.disconnect()
      else if (client.isOpen) client.destroy()
    },
  }
}

/** A client of either package, connected by the store that gets it. */
export function clientFor(name: ClientName, url: string): TestClient {
  const client =
    name === 'redis'
      ? createClient({ url, socket: { reconnectStrategy: 50 } })
      : new Redis(url, { lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: null })
  return testClient(client)
}

export function clusterClientFor(name: ClientName, nodes: readonly RedisServer[]): TestClient {
  const defaults = { password: nodes[0]?.password ?? '' }
  const client =
    name === 'redis'
      ? // The nodes exchange their addresses without the password.
        createCluster({ rootNodes: nodes.map((node) => ({ url: node.url() })), defaults })
      : new Cluster(
          nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
          { lazyConnect: true, redisOptions: defaults },
        )
  return testClient(client)
}

/** One server for a test file. */
export function useRedis(settings: Readonly<Record<string, string>> = {}): () => RedisServer {
  let server: RedisServer | undefined
  beforeAll(async () => {
    server = await startRedis({ settings })
  }, 60_000)
  afterAll(() => server?.remove(), 60_000)
  return () => {
    if (server === undefined) throw new Error('The server has not been started.')
    return server
  }
}

export function freshPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`
}

type TestOptions = Partial<RedisStoreOptions>

/** A store with a fresh prefix, long time limits for a busy machine, and hardly any polling. */
export function testStore(client: RedisClient, options: TestOptions = {}): Store {
  return redisStore({
    client,
    prefix: freshPrefix(),
    commandTimeoutMs: 20_000,
    pollIntervalMs: 60_000,
    ...options,
  })
}

/** The description of a Redis store, written by hand. */
export const REDIS_CAPABILITIES: StoreCapabilities = {
  name: 'redis',
  durable: true,
  shared: true,
}

/** The clients differ in how they send a command, and a command to every master; a second client runs the tests that cover those. */
export const WHERE_CLIENTS_DIFFER = /^(admission|bytes|delivery|workers|interleavings)/

/** Opened for this test alone, and closed after it. */
export async function opened(
  client: TestClient,
  options: TestOptions = {},
  host: Partial<StoreHost> = {},
): Promise<MessageStore> {
  onTestFinished(() => client.end())
  const open = await testStore(client.client, options).open(hostOf(host))
  onTestFinished(async () => {
    await open.close()
  })
  return open
}
