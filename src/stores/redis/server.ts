/**
 * Recognises the client that the user passed, and checks its server before the store uses it: layout of the keys, memory policy,
 * cluster or not.
 */
import { MessagingWebhooksError, OptionsError } from '../../public/errors.ts'
import { isRecord } from '../../runtime/values.ts'
import { addressForm, isAddress } from '../address.ts'
import type { Adapter } from './clients/connection.ts'
import { ioredis, isIoredis, type IoredisClient, type IoredisCluster } from './clients/ioredis.ts'
import {
  isNodeRedis,
  nodeRedis,
  oldNodeRedis,
  type NodeRedisClient,
  type NodeRedisCluster,
} from './clients/node-redis.ts'
import { refuseNewer } from '../stored.ts'
import { valuesAt } from './engine.ts'
import { text } from './replies.ts'
import { createScripted, type Scripted } from './scripted.ts'

/** A client of `redis` (node-redis 5), or of `ioredis` 4 or 5, of one server or of a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoredisClient | IoredisCluster

/** Throws `peer_unsupported` for a client of an older `redis`, an `OptionsError` for anything else and for a malformed address. */
export function adapterOf(given: unknown, option: string): Adapter {
  if (typeof given === 'object' && given !== null) {
    for (const url of urlsOf(given))
      if (!isRedisAddress(url)) throw new OptionsError(`redisStore: the url of ${option} is malformed; ${REDIS_FORM}.`)
    if (isNodeRedis(given)) return nodeRedis(given)
    if (isIoredis(given)) return ioredis(given)
    const found = oldNodeRedis(given)
    if (found !== undefined)
      throw new MessagingWebhooksError(
        'peer_unsupported',
        `redisStore: ${option} is a client of redis ${found}; expected one of redis 5, or ioredis 4 or 5. Run: npm install redis@5.`,
      )
  }
  throw new OptionsError(
    `redisStore: ${option} is not a known client; expected one of the package redis 5 (createClient, createCluster), or ioredis 4 or 5 (Redis, Cluster). Install one: npm install redis`,
  )
}

export const REDIS_FORM = addressForm('redis', 'host:6379/0')

export function isRedisAddress(url: string): boolean {
  return isAddress(url, ['redis', 'rediss'])
}

/** The addresses that a client of `redis` was made with. An empty one is its default. One of `ioredis` keeps none. */
function urlsOf(client: object): readonly string[] {
  // A cluster client has no public name for its options.
  const options: unknown = Reflect.get(client, 'options') ?? Reflect.get(client, '_options')
  if (!isRecord(options)) return []
  const nodes: readonly unknown[] = Array.isArray(options['rootNodes']) ? options['rootNodes'] : []
  return [options, ...nodes].flatMap((each) => {
    const url = isRecord(each) ? each['url'] : undefined
    return typeof url === 'string' && url !== '' ? [url] : []
  })
}

const LAYOUT_VERSION = 1
/** Time limit of tools, which get only an address. */
const TOOL_TIMEOUT_MS = 4_000

/** Several in a cluster, to use all its masters. On one server, more partitions cost more calls. */
const PARTITIONS = { cluster: 16, server: 1 }

const layoutKey = (prefix: string): string => `${prefix}:layout`

/**
 * Stores the layout if there is none, because the number of partitions cannot change later, and returns that number. Rejects if
 * the key holds another layout than `wanted`, or a foreign value.
 */
export async function enterLayout(
  redis: Scripted,
  prefix: string,
  wanted: number | undefined,
  isCluster: boolean,
): Promise<number> {
  const key = layoutKey(prefix)
  const partitions = wanted ?? (isCluster ? PARTITIONS.cluster : PARTITIONS.server)
  // A single value, so that of two concurrent processes one writes it and the other reads it completely.
  await redis.send(key, ['SET', key, `${LAYOUT_VERSION} ${partitions}`, 'NX'])
  const found = await layoutAt(redis, key)
  if (found === undefined) throw new MessagingWebhooksError('store_foreign', `The key is ${key}.`)
  refuseNewer('The keys have', found.version, LAYOUT_VERSION)
  if (wanted !== undefined && found.partitions !== wanted)
    throw new OptionsError(
      `redisStore: partitions is ${wanted}, but the prefix "${prefix}" was first used with ${found.partitions}; it cannot be changed.`,
    )
  return found.partitions
}

/** Undefined for a missing or foreign value. */
async function layoutAt(redis: Scripted, key: string) {
  const [found] = await valuesAt(redis, [key])
  const [, version, partitions] = /^(\d{1,9}) (\d{1,9})$/.exec(found?.toString() ?? '') ?? []
  return version === undefined ? undefined : { version: Number(version), partitions: Number(partitions) }
}

/** The error to report if the server may evict events, or its policy is unknown. Undefined if it never evicts. */
export async function evictionProblem(redis: Scripted): Promise<MessagingWebhooksError | undefined> {
  // Some hosted servers forbid INFO.
  const answers = await redis.sendToAll(['INFO', 'memory']).catch(() => [])
  const policies = answers.map((reply) => /^maxmemory_policy:(\S+)/m.exec(text(reply))?.[1])
  if (policies.length === 0 || policies.includes(undefined))
    return new MessagingWebhooksError('store_evicts', 'Its INFO does not tell the maxmemory-policy.')
  const bad = policies.find((policy) => policy !== 'noeviction')
  return bad === undefined ? undefined : new MessagingWebhooksError('store_evicts', `Its maxmemory-policy is ${bad}.`)
}

/** Whether the server belongs to a cluster, which requires a cluster client. */
export function isOfCluster(client: RedisClient): Promise<boolean> {
  return connected(client, async (redis) =>
    text(await redis.send(undefined, ['INFO', 'cluster'])).includes('cluster_enabled:1'),
  )
}

/** Whether there is a store with this prefix. */
export function hasLayout(client: RedisClient, prefix: string): Promise<boolean> {
  return connected(client, async (redis) => (await layoutAt(redis, layoutKey(prefix))) !== undefined)
}

/** Connects a client that is not connected yet, and closes it again. */
async function connected<T>(client: RedisClient, work: (redis: Scripted) => Promise<T>): Promise<T> {
  const redis = createScripted(adapterOf(client, 'client'), { timeoutMs: TOOL_TIMEOUT_MS })
  try {
    return await work(redis)
  } finally {
    await redis.end()
  }
}
