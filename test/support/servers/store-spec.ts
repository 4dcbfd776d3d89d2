/** A store as a process is told of it, and how it makes one of that. */
import type { Store } from '../../../src/index.ts'

export interface StoreSpec {
  readonly engine: 'sqlite' | 'postgres' | 'redis' | 'sharded'
  /** Of the server, credentials and all; for SQLite the path of the file. */
  readonly url: string
  /** Keeps the stores of one server apart: a schema's name, or a prefix. */
  readonly name: string
  /** For `sharded`: what it is made of, by name. */
  readonly shards?: Readonly<Record<string, StoreSpec>>
  /** For Redis: which of the two packages connects to it. Default `redis`. */
  readonly client?: 'redis' | 'ioredis'
}

/** Imports only the engine that is asked for. `watched`: what a test puts around the store, or around each of its shards. */
export async function storeOf(spec: StoreSpec, watched = (store: Store): Store => store): Promise<Store> {
  if (spec.engine !== 'sharded') return watched(await plainStoreOf(spec))
  const { shardedStore } = await import('../../../src/stores/sharded/store.ts')
  const made = Object.entries(spec.shards ?? {}).map(
    async ([name, shard]) => [name, await storeOf(shard, watched)] as const,
  )
  return shardedStore(Object.fromEntries(await Promise.all(made)))
}

async function plainStoreOf({ engine, url, name, client }: StoreSpec): Promise<Store> {
  switch (engine) {
    case 'sqlite': {
      const { sqliteStore } = await import('../../../src/stores/sqlite/store.ts')
      return sqliteStore({ path: url, busyTimeoutMs: 20_000 })
    }
    case 'postgres': {
      const { postgresStore } = await import('../../../src/stores/postgres/store.ts')
      return postgresStore({ connectionString: url, schema: name })
    }
    case 'redis': {
      const { redisStore } = await import('../../../src/stores/redis/store.ts')
      if (client === 'ioredis') {
        const { Redis } = await import('ioredis')
        return redisStore({ client: new Redis(url, { lazyConnect: true }), prefix: name })
      }
      const { createClient } = await import('redis')
      return redisStore({ client: createClient({ url }), prefix: name })
    }
    case 'sharded':
      throw new Error('A shard is a store of one engine.')
  }
}
