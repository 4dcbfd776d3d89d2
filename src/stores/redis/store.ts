/**
 * The store on Redis, shared by any number of machines.
 *
 * @module messaging-webhooks/redis
 */
import '../../runtime/supported-node.ts'
import { checkOptions } from '../../runtime/check-options.ts'
import type { Store } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/retention.ts'
import type { Adapter } from './clients/connection.ts'
import { adapterOf } from './server.ts'
import { openRedis } from './open.ts'
import { settingsSchema, type RedisStoreOptions } from './settings.ts'

export type { RedisClient } from './server.ts'
export type { RedisStoreOptions } from './settings.ts'

/**
 * A store in Redis 6.2 or later or a compatible server, single or clustered. A 204 promises what the server's persistence
 * promises: see the guide on `appendfsync` and replicas. Leases follow the server's clock. Throws an `OptionsError` for an
 * invalid setting, and `peer_unsupported` for a client of an older `redis`. Opening reports `store_evicts` if the server may evict keys, and rejects with `store_slow` or `store_failed`
 * if the server cannot be reached.
 */
export function redisStore(options: RedisStoreOptions): Store {
  const checked = checkOptions(settingsSchema, options, 'redisStore')
  const { client, subscriber, retentionDays, deadLetterDays, dedupeDays, ...others } = checked
  const adapter = adapterOf(client, 'client')

  function listening(): Adapter | undefined {
    if (subscriber === undefined) return undefined
    // A connection that subscribes can do little else.
    return subscriber === client ? adapter.duplicate() : adapterOf(subscriber, 'subscriber')
  }

  const settings = {
    ...others,
    client: adapter,
    subscriber: listening(),
    retention: retentionOf({ retentionDays, deadLetterDays, dedupeDays }),
  }
  return {
    capabilities: { name: 'redis', durable: true, shared: true },
    open: (host) => openRedis(settings, host),
  }
}
