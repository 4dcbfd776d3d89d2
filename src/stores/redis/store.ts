/**
 * The store on Redis, shared by any number of machines.
 *
 * @module messaging-webhooks/redis
 */
import { z } from 'zod'
import {
  checkOptions,
  daysAboveZero,
  LONGEST_DAYS,
  millisecondsAboveZero,
  numberFrom,
  wholeNumberFrom,
} from '../../runtime/check-options.ts'
import type { Store } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/retention.ts'
import { adapterOf, type RedisClient } from './server.ts'
import { openRedis } from './open.ts'

export type { RedisClient } from './server.ts'

/** The settings of a Redis store. */
export interface RedisStoreOptions {
  /**
   * A client of `redis` 5 (`createClient`, `createCluster`) or `ioredis` 5 (`Redis`, `Cluster`). The store connects it if it is
   * not connected, and then also closes it. You may use it for other purposes, but not for blocking commands.
   */
  readonly client: RedisClient
  /** A second client, for notifications only: events of other processes are then dispatched at once. Default: none. */
  readonly subscriber?: RedisClient | undefined
  /** The prefix of all keys, without braces. Default `messaging-webhooks`. */
  readonly prefix?: string | undefined
  /**
   * Partitions of the keys, each in one slot of a cluster: 16 in a cluster and 1 elsewhere, unless set. Cannot be changed later.
   */
  readonly partitions?: number | undefined
  /** Replicas that must confirm each write within a second; otherwise the store is unavailable. Default 0. */
  readonly waitReplicas?: number | undefined
  /** How long the payloads of settled events are kept; 0 keeps none. Default 1 day. */
  readonly retentionDays?: number | undefined
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number | undefined
  /** How long duplicates are recognised, at least as long as payloads are kept. Default 30 days. */
  readonly dedupeDays?: number | undefined
  /** How long to wait for a response or a connection; less than the receiver’s `storeTimeoutMs`. Default 4,000 ms. */
  readonly commandTimeoutMs?: number | undefined
  /** How often to poll for work. Default 250 ms. */
  readonly pollIntervalMs?: number | undefined
}

const SLOTS = 16_384
const MOST_REPLICAS = 100

const settingsSchema = z.strictObject({
  // The adapters recognise the client.
  client: z.unknown().optional(),
  subscriber: z.unknown().optional(),
  prefix: z
    .string()
    .regex(/^[^{}]+$/, 'expected a string without braces, because they determine the slot')
    .default('messaging-webhooks'),
  partitions: wholeNumberFrom(1, SLOTS).optional(),
  waitReplicas: wholeNumberFrom(0, MOST_REPLICAS).default(0),
  retentionDays: numberFrom(0, LONGEST_DAYS, 'days').default(1),
  deadLetterDays: daysAboveZero.default(30),
  dedupeDays: daysAboveZero.default(30),
  commandTimeoutMs: millisecondsAboveZero.default(4_000),
  pollIntervalMs: millisecondsAboveZero.default(250),
})

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
