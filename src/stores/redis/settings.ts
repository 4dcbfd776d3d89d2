/** The options of a Redis store, and their checks. */
import { z } from 'zod'
import {
  LONGEST_DAYS,
  millisecondsAboveZero,
  numberFrom,
  wholeNumberFrom,
  type Given,
} from '../../runtime/check-options.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'
import type { RedisClient } from './server.ts'

const SLOTS = 16_384
const MAX_REPLICAS = 100

export const redisOptions = {
  /**
   * A client of `redis` 5 (`createClient`, `createCluster`), or `ioredis` 4 or 5 (`Redis`, `Cluster`). If it is not connected, the store
   * connects it, also whenever it has ended, and closes it. You may use it for other purposes, but not for blocking commands or
   * subscriptions.
   */
  // The adapters recognise the client.
  client: z.custom<RedisClient>(),
  /**
   * A client for notifications only: events of other processes are then dispatched at once. The store duplicates it if it is
   * `client`. Default: none.
   */
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
  waitReplicas: wholeNumberFrom(0, MAX_REPLICAS).default(0),
  ...RETENTION_OPTIONS,
  /** How long the payloads of settled events are kept; 0 keeps none. Default 1 day. */
  retentionDays: numberFrom(0, LONGEST_DAYS, 'days').default(1),
  /** How long to wait for a response or a connection; less than the receiver’s `storeTimeoutMs`. Default 4,000 ms. */
  commandTimeoutMs: millisecondsAboveZero.default(4_000),
  /** How often to poll for work. Default 250 ms. */
  pollIntervalMs: millisecondsAboveZero.default(250),
}
export const settingsSchema = z.strictObject(redisOptions)

/** The settings of a Redis store. */
export interface RedisStoreOptions extends Given<typeof redisOptions> {}
