/** The store on a Redis that several machines share. */
import { OptionsError } from '../../errors.ts'
import type { Store } from '../../inbox/store.ts'
import { requireAboveZero } from '../bounds.ts'
import { adapterOf, type RedisClient } from './clients/adapter-of.ts'
import { openRedis } from './open.ts'

export type { RedisClient } from './clients/adapter-of.ts'

/** The settings of a Redis store. */
export interface RedisStoreOptions {
  /**
   * A client of `redis` 5 (`createClient`, `createCluster`) or `ioredis` 5 (`Redis`, `Cluster`). It stays yours: the store
   * connects it where nobody has, and then closes it too. It may be used for other things, but not for blocking commands.
   */
  readonly client: RedisClient
  /** A second client, for nothing but listening: work that another process took in is then known at once. Default none. */
  readonly subscriber?: RedisClient
  /** What all keys begin with; without braces. Default `messaging-webhooks`. */
  readonly prefix?: string
  /** Parts that the keys are spread over, each in one slot of a cluster; cannot be changed later. Default 16. */
  readonly partitions?: number
  /** How long the payloads of settled events are kept, for whoever looks into Redis; 0 for not at all. Default 1 day. */
  readonly retentionDays?: number
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number
  /** How long a duplicate is recognised. Default 30 days. */
  readonly dedupeDays?: number
  /** How long to wait for an answer or for the connection; less than the receiver’s `storeTimeoutMs`. Default 4,000 ms. */
  readonly commandTimeoutMs?: number
  /** How often to look for work that nobody announced. Default 250 ms. */
  readonly pollIntervalMs?: number
}

const DAY_MS = 86_400_000
/** Of a cluster. */
const SLOTS = 16_384

/**
 * A store on Redis 6.2 or later, or what speaks like it, alone or as a cluster. What a 204 promises is what the server does:
 * its README section says what `appendfsync` and replicas mean. Leases run by the server's clock. Throws an `OptionsError`
 * for a setting that cannot work; opening it reports `store_evicts` where the server may throw events away, and rejects with
 * `store_slow` or `store_failed` where it cannot be reached.
 */
export function redisStore(options: RedisStoreOptions): Store {
  const {
    client,
    subscriber,
    prefix = 'messaging-webhooks',
    partitions = 16,
    retentionDays = 1,
    deadLetterDays = 30,
    dedupeDays = 30,
    commandTimeoutMs = 4_000,
    pollIntervalMs = 250,
  } = options
  if (prefix === '' || /[{}]/.test(prefix))
    throw new OptionsError('redisStore: prefix is empty or has a brace in it, which would decide over the slot.')
  requireAboveZero('redisStore', { deadLetterDays, dedupeDays, commandTimeoutMs, pollIntervalMs })
  if (!(retentionDays >= 0))
    throw new OptionsError(`redisStore: retentionDays is ${String(retentionDays)}; expected a number of at least 0.`)
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > SLOTS)
    throw new OptionsError(`redisStore: partitions is ${String(partitions)}; expected a whole number from 1 to 16,384.`)
  const settings = {
    client: adapterOf(client, 'client'),
    subscriber: subscriber === undefined ? undefined : adapterOf(subscriber, 'subscriber'),
    prefix,
    partitions,
    retention: {
      retentionMs: Math.round(retentionDays * DAY_MS),
      deadLetterMs: Math.round(deadLetterDays * DAY_MS),
      dedupeMs: Math.round(dedupeDays * DAY_MS),
    },
    commandTimeoutMs,
    pollIntervalMs,
  }
  return {
    capabilities: REDIS_CAPABILITIES,
    open: (host) => openRedis(settings, host),
  }
}

const REDIS_CAPABILITIES = {
  name: 'redis',
  durable: true,
  shared: true,
  ownClock: true,
  admitsAndClaims: true,
} as const
