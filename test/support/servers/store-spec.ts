/** A store as a process is told of it, and how it makes one of that. */
import type { Store } from '../../../src/index.ts'

export interface StoreSpec {
  readonly engine: 'sqlite' | 'postgres' | 'mysql' | 'redis'
  /** Of the server, credentials and all; for SQLite the path of the file. */
  readonly url: string
  /** Keeps the stores of one server apart: a schema's name, or a prefix. */
  readonly name: string
  /** For SQLite. Default 20,000. */
  readonly busyTimeoutMs?: number
  /** For Redis: which of the two packages connects to it. Default `redis`. */
  readonly client?: 'redis' | 'ioredis'
}

/** Imports only the engine that is asked for. `watched`: what a test puts around the store. */
export async function storeOf(spec: StoreSpec, watched = (store: Store): Store => store): Promise<Store> {
  return watched(await plainStoreOf(spec))
}

async function plainStoreOf({ engine, url, name, client, busyTimeoutMs = 20_000 }: StoreSpec): Promise<Store> {
  switch (engine) {
    case 'sqlite': {
      const { sqliteStore } = await import('../../../src/stores/sqlite/store.ts')
      return sqliteStore({ path: url, busyTimeoutMs })
    }
    case 'postgres': {
      const { postgresStore } = await import('../../../src/stores/postgres/store.ts')
      return postgresStore({ connectionString: url, schema: name })
    }
    case 'mysql': {
      const { mysqlStore } = await import('../../../src/stores/mysql/store.ts')
      return mysqlStore({ uri: url, prefix: name })
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
  }
}
