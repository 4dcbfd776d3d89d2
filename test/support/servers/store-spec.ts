/** A serializable description of a store, and how a process opens it. */
import type { Store } from '../../../src/index.ts'
import type { RedisClient } from '../../../src/stores/redis/server.ts'
import { SENTINEL_NAME } from './redis-replica.ts'

export interface StoreSpec {
  readonly engine: 'sqlite' | 'postgres' | 'mysql' | 'redis'
  /** The server's URL, credentials included; for SQLite the path of the file. */
  readonly url: string
  /** Separates the stores of one server: a schema's name, or a prefix. */
  readonly name: string
  /** For Postgres and MySQL: handlers get transactions. Default false. */
  readonly transactional?: boolean
  /** For SQLite. Default 20,000. */
  readonly busyTimeoutMs?: number
  /** For Redis: which of the two client packages connects. Default `redis`. */
  readonly client?: 'redis' | 'ioredis'
  /** For Redis: what the URL points to, if not the server; always by ioredis. */
  readonly through?: 'sentinel' | 'cluster'
  /** For Redis. Default 0. */
  readonly waitReplicas?: number
  /** For Redis: how long a command may take. Default 4,000. */
  readonly commandTimeoutMs?: number
}

/** Imports only the requested engine. `watched`: wraps the store for a test. */
export async function storeOf(spec: StoreSpec, watched = (store: Store): Store => store): Promise<Store> {
  return watched(await plainStoreOf(spec))
}

async function plainStoreOf(spec: StoreSpec): Promise<Store> {
  const { engine, url, name, busyTimeoutMs = 20_000, transactional = false } = spec
  switch (engine) {
    case 'sqlite': {
      const { sqliteStore } = await import('../../../src/stores/sqlite/store.ts')
      return sqliteStore({ path: url, busyTimeoutMs })
    }
    case 'postgres': {
      const { postgresStore } = await import('../../../src/stores/postgres/store.ts')
      return postgresStore({ connectionString: url, schema: name, transactional })
    }
    case 'mysql': {
      const { mysqlStore } = await import('../../../src/stores/mysql/store.ts')
      return mysqlStore({ uri: url, prefix: name, transactional })
    }
    case 'redis': {
      const { redisStore } = await import('../../../src/stores/redis/store.ts')
      return redisStore({
        client: await redisClientOf(spec),
        prefix: name,
        waitReplicas: spec.waitReplicas,
        commandTimeoutMs: spec.commandTimeoutMs,
      })
    }
  }
}

async function redisClientOf({ url, client, through }: StoreSpec): Promise<RedisClient> {
  if (client !== 'ioredis' && through === undefined) {
    const { createClient } = await import('redis')
    return createClient({ url })
  }
  const { Cluster, Redis } = await import('ioredis')
  const { hostname: host, port, password } = new URL(url)
  const node = { host, port: Number(port) }
  const options = { password: decodeURIComponent(password), lazyConnect: true }
  if (through === 'sentinel') return new Redis({ sentinels: [node], name: SENTINEL_NAME, ...options })
  if (through === 'cluster') return new Cluster([node], { lazyConnect: true, redisOptions: options })
  return new Redis(url, { lazyConnect: true })
}
