/**
 * The store on Postgres: one database for as many processes as there are.
 *
 * @module messaging-webhooks/postgres
 */
import type { Pool } from 'pg'
import type { Store } from '../../inbox/store.ts'
import { reachOnce } from './connections.ts'
import { migrate, migrationsText, pending, type Migrated } from './migrate.ts'
import { openPostgres } from './open.ts'
import { checkMigrations, checkSettings } from './settings.ts'
import type { PostgresContext } from './transactions.ts'

export type { PostgresContext } from './transactions.ts'
export type { Migrated } from './migrate.ts'

/** Where the database is: one of `pool` and `connectionString`. */
export interface PostgresPlace {
  /** A pool of `pg` that the application has. It is neither configured nor ended by the store. */
  readonly pool?: Pool | undefined
  /** `postgres://user:password@host:5432/database?sslmode=...`; the store makes a pool of its own. */
  readonly connectionString?: string | undefined
  /** The schema of the tables. Default `messaging_webhooks`. */
  readonly schema?: string | undefined
}

/** The settings of a Postgres store. */
export interface PostgresStoreOptions extends PostgresPlace {
  /** Gives handlers `context.transaction`, in which the event is settled too. Default `false`. */
  readonly transactional?: boolean | undefined
  /** For the connection that listens for new work, where the other address leads to a pooler. Default the same address. */
  readonly listenConnectionString?: string | undefined
  /** Connections of the store's own pool; with `transactional`, two fewer than this are for handlers. Default 10. */
  readonly maxConnections?: number | undefined
  /** How long the payloads of settled events are kept. Default 7 days. */
  readonly retentionDays?: number | undefined
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number | undefined
  /** How long a duplicate is recognised: at least as long as payloads are kept. Default 30 days. */
  readonly dedupeDays?: number | undefined
  /** How long to wait for a connection. Default 5,000 ms. */
  readonly connectTimeoutMs?: number | undefined
  /** How long the server may work on a statement. Default 10,000 ms. */
  readonly queryTimeoutMs?: number | undefined
  /** How long a statement may wait for a lock. Default 3,000 ms. */
  readonly lockTimeoutMs?: number | undefined
  /** How often to look for work that nobody told of. Default 5,000 ms. */
  readonly pollIntervalMs?: number | undefined
  /** How often to prove that what others tell is heard. Default 60,000 ms. */
  readonly probeIntervalMs?: number | undefined
  /**
   * Whose clock says what is due and when a lease ends: the server's, or that of each receiver, for tests that advance a
   * clock. Default `server`.
   */
  readonly clock?: 'server' | 'caller' | undefined
}

/**
 * A store in a Postgres database (12 or later) that processes on many machines share. Needs the optional peer dependency
 * `pg`; without it, opening rejects with `peer_missing`. Opening applies the migrations that are missing, or rejects with
 * `store_unmigrated` where the role may not, `store_forbidden` where it lacks other privileges, `store_foreign` or `store_newer`
 * for what is not ours to change. Throws an `OptionsError` for a setting that cannot work.
 */
export function postgresStore(options: PostgresStoreOptions & { readonly transactional: true }): Store<PostgresContext>
export function postgresStore(options: PostgresStoreOptions): Store
export function postgresStore(options: PostgresStoreOptions): Store<PostgresContext> {
  const settings = checkSettings(options, 'postgresStore')
  return {
    capabilities: {
      name: 'postgres',
      durable: true,
      shared: true,
    },
    open: (host) => openPostgres(settings, host),
  }
}

/**
 * Applies the migrations that are missing, by a role that may, so that the application's need not. Says how many migrations there
 * were and are. Rejects as opening a store does.
 */
export async function migratePostgres(place: PostgresPlace): Promise<Migrated> {
  const { schema, ...where } = checkSettings(place, 'migratePostgres')
  return reachOnce(where, ({ connections, failures }) => migrate(connections, schema, failures))
}

/**
 * Says what `migratePostgres` would do, and changes nothing: `from` is how many migrations the schema has (0 where it is
 * not there), `to` how many this package knows. Rejects as opening a store does.
 */
export async function pendingPostgresMigrations(place: PostgresPlace): Promise<Migrated> {
  const { schema, ...where } = checkSettings(place, 'pendingPostgresMigrations')
  return reachOnce(where, ({ connections }) => pending(connections, schema))
}

/**
 * The migrations as text, one transaction, for whoever reviews and applies them: all, or those that follow after version `from`.
 * Applied twice it fails and changes nothing. Throws an `OptionsError` for a schema that cannot be one.
 */
export function postgresMigrations(
  options: { readonly schema?: string | undefined; readonly from?: number | undefined } = {},
): string {
  const { schema, from } = checkMigrations(options)
  return migrationsText(schema, from)
}
