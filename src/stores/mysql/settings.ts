/** Checks the settings of a MySQL store and fills in defaults. */
import type { Pool } from 'mysql2/promise'
import { z } from 'zod'
import { OptionsError } from '../../public/errors.ts'
import { checkOptions, hasMethods, millisecondsAboveZero, type Given } from '../../runtime/check-options.ts'
import { addressForm, isAddress } from '../address.ts'
import { SQL_OPTIONS } from '../sql/connecting.ts'

/** Names of tables have at most 64 characters. Some servers ignore case in them. */
const tablePrefix = z
  .custom<string>(
    (value) => typeof value === 'string' && /^[a-z0-9_]{1,40}$/.test(value),
    'expected 1 to 40 lower-case letters, digits and underscores',
  )
  .default('messaging_webhooks')

const address = z.custom<string>(
  (value) => typeof value === 'string' && isAddress(value, ['mysql']) && new URL(value).hostname !== '',
  addressForm('mysql', 'host:3306/database'),
)

export const mysqlOptions = {
  /**
   * A `mysql2/promise` pool for this store alone: it sets the isolation level, `sql_mode` and time limits of each connection. The
   * store does not close it. Give either `pool` or `uri`.
   */
  pool: z
    .custom<Pool>((value) => hasMethods(value, ['getConnection', 'query', 'end']), 'expected a pool of mysql2/promise')
    .optional(),
  /** `mysql://user:password@host:3306/database`. The store creates a pool of its own. */
  uri: address.optional(),
  /** The names of the tables begin with it. Default `messaging_webhooks`. */
  prefix: tablePrefix,
  ...SQL_OPTIONS,
  /** How often to poll for work of other processes. Default 1,000 ms. */
  pollIntervalMs: millisecondsAboveZero.default(1_000),
}
const settingsSchema = z.strictObject(mysqlOptions)

/** The settings of a MySQL store. */
export interface MysqlStoreOptions extends Given<typeof mysqlOptions> {}

export type Settings = z.output<typeof settingsSchema>

/** Checks settings of the store, or of a call that only connects. `where` is the function that was called. */
export function checkSettings(given: object, where: string): Settings {
  const settings = checkOptions(settingsSchema, given, where)
  if ((settings.pool === undefined) === (settings.uri === undefined))
    throw new OptionsError(`${where}: give either \`pool\` or \`uri\`.`)
  return settings
}

const migrationsSchema = z.strictObject({ prefix: tablePrefix })

export function checkMigrations(given: object): z.output<typeof migrationsSchema> {
  return checkOptions(migrationsSchema, given, 'mysqlMigrations')
}
