/**
 * The store on Postgres: one database for any number of processes.
 *
 * @module messaging-webhooks/postgres
 */
import '../../runtime/supported-node.ts'
import type { Store } from '../../inbox/store.ts'
import type { Migrated } from '../sql/connecting.ts'
import { reachOnce } from './connections.ts'
import { migrate, migrationsText, pending } from './migrations.ts'
import { openPostgres } from './open.ts'
import { checkMigrations, checkSettings, type PostgresPlace, type PostgresStoreOptions } from './settings.ts'
import type { PostgresContext } from './transactions.ts'

export type { PostgresPlace, PostgresStoreOptions } from './settings.ts'
export type { PostgresContext } from './transactions.ts'
export type { Migrated } from '../sql/connecting.ts'

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
