/**
 * The store on Postgres: one database for any number of processes.
 *
 * @module messaging-webhooks/postgres
 */
import type { Pool } from 'pg'
import type { Store } from '../../inbox/store.ts'
import type { Migrated } from '../sql/connecting.ts'
import { reachOnce } from './connections.ts'
import { migrate, migrationsText, pending } from './migrations.ts'
import { openPostgres } from './open.ts'
import { checkMigrations, checkSettings } from './settings.ts'
import type { PostgresContext } from './transactions.ts'

export type { PostgresContext } from './transactions.ts'
export type { Migrated } from '../sql/connecting.ts'

/** The database: either `pool` or `connectionString`. */
export interface PostgresPlace {
  /** The application's `pg` pool. The store neither configures nor closes it. */
  readonly pool?: Pool | undefined
  /**
   * `postgres://user:password@host:5432/database?sslmode=...`. The store creates a pool of its own. With several hosts
   * (`host1:5432,host2:5432`) it uses the one that accepts writes, and looks for it again after a failover.
   */
  readonly connectionString?: string | undefined
  /** The schema of the tables. Default `messaging_webhooks`. */
  readonly schema?: string | undefined
}

/** The settings of a Postgres store. */
export interface PostgresStoreOptions extends PostgresPlace {
  /** Gives handlers `context.transaction`, in which the event is settled too. Default `false`. */
  readonly transactional?: boolean | undefined
  /** The address for the listening connection, if `connectionString` leads to a pooler. Default: the same address. */
  readonly listenConnectionString?: string | undefined
  /** Connections of the store's own pool. With `transactional`, two fewer than this are for handlers. Default 10. */
  readonly maxConnections?: number | undefined
  /** How long the payloads of settled events are kept. Default 7 days. */
  readonly retentionDays?: number | undefined
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number | undefined
  /** How long duplicates are recognised, at least as long as payloads are kept. Default 30 days. */
  readonly dedupeDays?: number | undefined
  /** How long to wait for a connection. Default 5,000 ms. */
  readonly connectTimeoutMs?: number | undefined
  /** How long the server may work on a statement. Default 10,000 ms. */
  readonly queryTimeoutMs?: number | undefined
  /** How long a statement may wait for a lock. Default 3,000 ms. */
  readonly lockTimeoutMs?: number | undefined
  /** How often to poll for work. Default 5,000 ms. */
  readonly pollIntervalMs?: number | undefined
  /** How often to check that notifications arrive. Default 60,000 ms. */
  readonly probeIntervalMs?: number | undefined
  /**
   * The clock that decides what is due and when a lease ends: the server's, or each receiver's for tests that advance a clock.
   * Default `server`.
   */
  readonly clock?: 'server' | 'caller' | undefined
}

/**
 * A store in a Postgres database (12 or later), shared by processes on any number of machines. Needs the optional peer
 * dependency `pg`; without it, opening rejects with `peer_missing`. Opening applies missing migrations, or rejects with
 * `store_unmigrated` if the role may not, with `store_forbidden` if it lacks other privileges, and with `store_foreign` or
 * `store_newer` for a schema that it must not change. Throws an `OptionsError` for an invalid setting.
 */
export function postgresStore(options: PostgresStoreOptions & { readonly transactional: true }): Store<PostgresContext>
export function postgresStore(options: PostgresStoreOptions): Store
export function postgresStore(options: PostgresStoreOptions): Store<PostgresContext> {
  const settings = checkSettings(options, 'postgresStore')
  return {
    capabilities: { name: 'postgres', durable: true, shared: true },
    open: (host) => openPostgres(settings, host),
  }
}

/**
 * Applies the missing migrations with a role that has the privilege, so that the application's role need not have it. Returns
 * the number of migrations before and after. Rejects as opening a store does.
 */
export async function migratePostgres(place: PostgresPlace): Promise<Migrated> {
  const settings = checkSettings(place, 'migratePostgres')
  return reachOnce(settings, ({ connections, failures }) => migrate(connections, settings.schema, failures))
}

/**
 * Reports what `migratePostgres` would do and changes nothing: `from` is the number of migrations of the schema (0 if it does
 * not exist), `to` the number that this package has. Rejects as opening a store does.
 */
export async function pendingPostgresMigrations(place: PostgresPlace): Promise<Migrated> {
  const settings = checkSettings(place, 'pendingPostgresMigrations')
  return reachOnce(settings, ({ connections }) => pending(connections, settings.schema))
}

/**
 * The migrations as text, in one transaction, for review and manual application: all, or those after version `from`. Applied a
 * second time, the text fails and changes nothing. Throws an `OptionsError` for an invalid schema name.
 */
export function postgresMigrations(
  options: { readonly schema?: string | undefined; readonly from?: number | undefined } = {},
): string {
  const { schema, from } = checkMigrations(options)
  return migrationsText(schema, from)
}
