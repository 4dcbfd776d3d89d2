/**
 * The store on MariaDB and MySQL: one database for as many processes as there are.
 *
 * @module messaging-webhooks/mysql
 */
import type { Pool } from 'mysql2/promise'
import type { Store } from '../../inbox/store.ts'
import { migrationsText } from './migrations.ts'
import { findMigrations, openMysql } from './open.ts'
import { checkMigrations, checkSettings } from './settings.ts'
import type { MysqlContext } from './transactions.ts'

export type { MysqlContext } from './transactions.ts'

/** The settings of a MySQL store. */
export interface MysqlStoreOptions {
  /**
   * A `mysql2/promise` pool for this store alone: it sets the isolation level, `sql_mode` and time limits of each connection. The
   * store does not close it. Give either `pool` or `uri`.
   */
  readonly pool?: Pool | undefined
  /** `mysql://user:password@host:3306/database`. The store creates a pool of its own. */
  readonly uri?: string | undefined
  /** The names of the tables begin with it. Default `messaging_webhooks`. */
  readonly prefix?: string | undefined
  /** Gives handlers `context.transaction`, in which the event is settled too. Default `false`. */
  readonly transactional?: boolean | undefined
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
  /** How long a statement may wait for a lock, in whole seconds. Default 3,000 ms. */
  readonly lockTimeoutMs?: number | undefined
  /** How often to poll for work of other processes. Default 1,000 ms. */
  readonly pollIntervalMs?: number | undefined
  /**
   * The clock that decides what is due and when a lease ends: the server's, or each receiver's for tests that advance a clock.
   * Default `server`.
   */
  readonly clock?: 'server' | 'caller' | undefined
}

/**
 * A store in a database of MariaDB (10.6 or later) or MySQL (8.0 or later), shared by processes on any number of machines. Needs
 * the optional peer dependency `mysql2`; without it, opening rejects with `peer_missing`. Opening creates missing tables, or
 * rejects with `store_unmigrated` if the account may not, with `store_forbidden` if it lacks other privileges, and with
 * `store_foreign` or `store_newer` for tables that it must not change. Throws an `OptionsError` for an invalid setting.
 */
export function mysqlStore(options: MysqlStoreOptions & { readonly transactional: true }): Store<MysqlContext>
export function mysqlStore(options: MysqlStoreOptions): Store
export function mysqlStore(options: MysqlStoreOptions): Store<MysqlContext> {
  const settings = checkSettings(options, 'mysqlStore')
  return {
    capabilities: { name: 'mysql', durable: true, shared: true },
    open: (host) => openMysql(settings, host),
  }
}

type MysqlPlace = Pick<MysqlStoreOptions, 'pool' | 'uri' | 'prefix'>

/**
 * Creates or changes the tables with an account that may, so that the application's account need not. Answers the number of
 * migrations before and after. Rejects as opening a store does.
 */
export async function migrateMysql(place: MysqlPlace): ReturnType<typeof findMigrations> {
  return findMigrations(checkSettings(place, 'migrateMysql'), true)
}

/** The number of migrations of the tables (0 if there are none), and of this package. Changes nothing. */
export async function pendingMysqlMigrations(place: MysqlPlace): ReturnType<typeof findMigrations> {
  return findMigrations(checkSettings(place, 'pendingMysqlMigrations'), false)
}

/** The statements that create the tables, for review and manual application. Applied twice they change nothing. */
export function mysqlMigrations(options: { readonly prefix?: string | undefined } = {}): string {
  return migrationsText(checkMigrations(options).prefix)
}
