/** Recognises the client that the user passed. */
import { OptionsError } from '../../../public/errors.ts'
import type { Adapter } from './connection.ts'
import { ioredis, isIoredis, type IoredisClient, type IoredisCluster } from './ioredis.ts'
import { isNodeRedis, nodeRedis, type NodeRedisClient, type NodeRedisCluster } from './node-redis.ts'

/** A client of `redis` (node-redis 5) or `ioredis` 5, of one server or of a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoredisClient | IoredisCluster

/** Throws an `OptionsError` for anything else. */
export function adapterOf(given: unknown, option: string): Adapter {
  if (typeof given === 'object' && given !== null) {
    if (isNodeRedis(given)) return nodeRedis(given)
    if (isIoredis(given)) return ioredis(given)
  }
  throw new OptionsError(
    `redisStore: ${option} is not a known client; expected one of the package redis 5 (createClient, createCluster) or ioredis 5 (Redis, Cluster). Install one: npm install redis`,
  )
}
