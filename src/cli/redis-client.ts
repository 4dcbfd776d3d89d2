/** A client for a Redis, by whichever of the two packages is installed. */
import type { RedisClient } from '../stores/redis/store.ts'
import { CliError } from './exit-codes.ts'

/** Makes clients that nobody has connected yet. */
interface RedisPackage {
  readonly single: (url: string) => RedisClient
  /** Of the cluster that the server is one of. */
  readonly cluster: (url: string) => RedisClient
}

/** Rejects with a `CliError` where neither package is installed. */
export async function loadRedisPackage(): Promise<RedisPackage> {
  try {
    return await nodeRedis()
  } catch {
    try {
      return await ioredis()
    } catch {
      throw new CliError(
        'failed',
        'A Redis store needs one of the packages redis and ioredis, and neither is installed.',
        'Install one beside messaging-webhooks: npm install redis',
      )
    }
  }
}

async function nodeRedis(): Promise<RedisPackage> {
  const { createClient, createCluster } = await import('redis')
  return {
    single: (url) => createClient({ url }),
    cluster(url) {
      // The nodes tell each other's addresses without it.
      const { username, password, tls } = accessOf(url)
      return createCluster({
        rootNodes: [{ url }],
        defaults: { username, password, ...(tls ? { socket: { tls: true } } : {}) },
      })
    },
  }
}

async function ioredis(): Promise<RedisPackage> {
  const { Cluster, Redis } = await import('ioredis')
  return {
    single: (url) => new Redis(url, { lazyConnect: true }),
    cluster(url) {
      const { username, password, tls } = accessOf(url)
      return new Cluster([url], {
        lazyConnect: true,
        redisOptions: { username, password, ...(tls ? { tls: {} } : {}) },
      })
    },
  }
}

function accessOf(url: string): { readonly username: string; readonly password: string; readonly tls: boolean } {
  const { username, password, protocol } = new URL(url)
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: protocol === 'rediss:',
  }
}
