/** A Redis client from either supported package. */
import type { RedisClient } from '../stores/redis/store.ts'
import { CliError } from './exit-codes.ts'

/** Creates clients that are not connected. */
interface RedisPackage {
  readonly single: (url: string) => RedisClient
  /** A client of the server's cluster. */
  readonly cluster: (url: string) => RedisClient
}

/** Rejects with a `CliError` if neither package is installed. */
export async function loadRedisPackage(): Promise<RedisPackage> {
  try {
    return await nodeRedis()
  } catch {
    try {
      return await ioredis()
    } catch {
      throw new CliError(
        'failed',
        'A Redis store requires the package redis or ioredis, and neither is installed.',
        'Install one: npm install redis',
      )
    }
  }
}

async function nodeRedis(): Promise<RedisPackage> {
  const { createClient, createCluster } = await import('redis')
  return {
    single: (url) => createClient({ url }),
    cluster(url) {
      // The addresses of the other nodes omit the credentials.
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
