/**
 * The store on Redis, shared by any number of machines.
 *
 * @module messaging-webhooks/redis
 */
import { z } from 'zod'
import {
  checkOptions,
  LONGEST_DAYS,
  millisecondsAboveZero,
  numberFrom,
  wholeNumberFrom,
  type Given,
} from '../../runtime/check-options.ts'
import type { Store } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/retention.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'
import { adapterOf, type RedisClient } from './server.ts'
import { openRedis } from './open.ts'

export type { RedisClient } from './server.ts'

const SLOTS = 16_384
const MOST_REPLICAS = 100

export const redisOptions = {
  /**
   * A client of `redis` 5 (`createClient`, `createCluster`) or `ioredis` 5 (`Redis`, `Cluster`). The store connects it if it is
   * not connected, and then also closes it. You may use it for other purposes, but not for blocking commands.
   */
  // The adapters recognise the client.
  client: z.custom<RedisClient>(),
  /** A second client, for notifications only: events of other processes are then dispatched at once. Default: none. */
  subscriber: z.custom<RedisClient>().optional(),
  /** The prefix of all keys, without braces. Default `messaging-webhooks`. */
  prefix: z
    .string()
    .regex(/^[^{}]+$/, 'expected a string without braces, because they determine the slot')
    .default('messaging-webhooks'),
  /**
   * Partitions of the keys, each in one slot of a cluster: 16 in a cluster and 1 elsewhere, unless set. Cannot be changed later.
   */
  partitions: wholeNumberFrom(1, SLOTS).optional(),
  /** Replicas that must confirm each write within a second; otherwise the store is unavailable. Default 0. */
  waitReplicas: wholeNumberFrom(0, MOST_REPLICAS).default(0),
  ...RETENTION_OPTIONS,
  /** How long the payloads of settled events are kept; 0 keeps none. Default 1 day. */
  retentionDays: numberFrom(0, LONGEST_DAYS, 'days').default(1),
  /** How long to wait for a response or a connection; less than the receiver’s `storeTimeoutMs`. Default 4,000 ms. */
  commandTimeoutMs: millisecondsAboveZero.default(4_000),
  /** How often to poll for work. Default 250 ms. */
  pollIntervalMs: millisecondsAboveZero.default(250),
}
const settingsSchema = z.strictObject(redisOptions)

/** The settings of a Redis store. */
export interface RedisStoreOptions extends Given<typeof redisOptions> {}

/**
 * A store in Redis 6.2 or later or a compatible server, single or clustered. A 204 promises what the server's persistence
 * promises: see the guide on `appendfsync` and replicas. Leases follow the server's clock. Throws an `OptionsError` for an
 * invalid setting. Opening reports `store_evicts` if the server may evict keys, and rejects with `store_slow` or `store_failed`
 * if the server cannot be reached.
 */
export function redisStore(options: RedisStoreOptions): Store {
  const checked = checkOptions(settingsSchema, options, 'redisStore')
  const { client, subscriber, retentionDays, deadLetterDays, dedupeDays, ...others } = checked
  const settings = {
    ...others,
    client: adapterOf(client, 'client'),
    subscriber: subscriber === undefined ? undefined : adapterOf(subscriber, 'subscriber'),
    retention: retentionOf({ retentionDays, deadLetterDays, dedupeDays }),
  }
  return {
    capabilities: { name: 'redis', durable: true, shared: true },
    open: (host) => openRedis(settings, host),
  }
}
