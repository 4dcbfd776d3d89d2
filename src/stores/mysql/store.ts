/**
 * The store on MariaDB and MySQL: one database for as many processes as there are.
 *
 * @module messaging-webhooks/mysql
 */
import '../../runtime/supported-node.ts'
import type { Store } from '../../inbox/store.ts'
import { migrationsText } from './migrations.ts'
import { findMigrations, openMysql } from './open.ts'
import { checkMigrations, checkSettings, type MysqlStoreOptions } from './settings.ts'
import type { MysqlContext } from './transactions.ts'

export type { MysqlStoreOptions } from './settings.ts'
export type { MysqlContext } from './transactions.ts'

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
