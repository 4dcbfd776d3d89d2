/** Creates Redis clients with either supported package. */
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
  return nodeRedis()
    .catch(ioredis)
    .catch(() => {
      const what = 'A Redis store requires the package redis or ioredis, and neither is installed.'
      throw new CliError('failed', what, 'Install one: npm install redis')
    })
}

async function nodeRedis(): Promise<RedisPackage> {
  const { createClient, createCluster } = await import('redis')
  return {
    single: (url) => createClient({ url }),
    cluster(url) {
      const { tls, ...access } = accessOf(url)
      return createCluster({ rootNodes: [{ url }], defaults: { ...access, ...(tls && { socket: { tls } }) } })
    },
  }
}

async function ioredis(): Promise<RedisPackage> {
  const { Cluster, Redis } = await import('ioredis')
  return {
    single: (url) => new Redis(url, { lazyConnect: true }),
    cluster(url) {
      const { tls, ...access } = accessOf(url)
      return new Cluster([url], { lazyConnect: true, redisOptions: { ...access, ...(tls && { tls: {} }) } })
    },
  }
}

/** The addresses of a cluster's other nodes omit the credentials. */
function accessOf(url: string) {
  const { username, password, protocol } = new URL(url)
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: protocol === 'rediss:' && (true as const),
  }
}
