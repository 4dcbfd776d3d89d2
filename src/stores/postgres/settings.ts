/** Checks the settings of a Postgres store and fills in defaults. */
import type { Pool } from 'pg'
import { z } from 'zod'
import {
  checkOptions,
  hasMethods,
  millisecondsAboveZero,
  wholeNumberFrom,
  type Given,
} from '../../runtime/check-options.ts'
import { OptionsError } from '../../public/errors.ts'
import { addressForm, isAddress } from '../address.ts'
import { SQL_OPTIONS } from '../sql/connecting.ts'

const LONGEST_NAME_BYTES = 63

/** Postgres truncates longer names, so two schemas could become one. */
const schemaName = z
  .custom<string>(
    (value) =>
      typeof value === 'string' &&
      value !== '' &&
      !value.includes('\0') &&
      Buffer.byteLength(value) <= LONGEST_NAME_BYTES,
    `expected a name of 1 to ${LONGEST_NAME_BYTES} bytes`,
  )
  .default('messaging_webhooks')

const SCHEMES = ['postgres', 'postgresql']
const address = z.custom<string>(
  (value) => typeof value === 'string' && isAddress(value, SCHEMES),
  addressForm('postgres', 'host:5432/database'),
)

/** An application's pool may lead to a socket, which pg names in other forms. */
const OF_SOCKET = /^(?:\/|socket:)/

function isWellAddressed(pool: Pool | undefined): boolean {
  const { connectionString } = pool?.options ?? {}
  return connectionString === undefined || OF_SOCKET.test(connectionString) || isAddress(connectionString, SCHEMES)
}

const place = {
  /** The application's `pg` pool. The store neither configures nor closes it. */
  pool: z
    .custom<Pool>((value) => hasMethods(value, ['connect', 'query', 'on']), 'expected a pool of the package pg')
    .optional(),
  /**
   * `postgres://user:password@host:5432/database?sslmode=...`. The store creates a pool of its own. With several hosts
   * (`host1:5432,host2:5432`) it uses the one that accepts writes, and looks for it again after a failover.
   */
  connectionString: address.optional(),
  /** The schema of the tables. Default `messaging_webhooks`. */
  schema: schemaName,
}

export const postgresOptions = {
  ...place,
  /** The address for the listening connection, if `connectionString` leads to a pooler. Default: the same address. */
  listenConnectionString: address.optional(),
  ...SQL_OPTIONS,
  /** How often to poll for work. Default 5,000 ms. */
  pollIntervalMs: millisecondsAboveZero.default(5_000),
  /** How often to check that notifications arrive. Default 60,000 ms. */
  probeIntervalMs: millisecondsAboveZero.default(60_000),
}
const settingsSchema = z.strictObject(postgresOptions)

/** The database: either `pool` or `connectionString`. */
export interface PostgresPlace extends Given<typeof place> {}

/** The settings of a Postgres store. */
export interface PostgresStoreOptions extends Given<typeof postgresOptions> {}

export type Settings = z.output<typeof settingsSchema>

/** Checks settings of the store, or of a call that only connects. `where` is the function that was called. */
export function checkSettings(given: object, where: string): Settings {
  const settings = checkOptions(settingsSchema, given, where)
  if ((settings.pool === undefined) === (settings.connectionString === undefined))
    throw new OptionsError(`${where}: give either \`pool\` or \`connectionString\`.`)
  if (!isWellAddressed(settings.pool))
    throw new OptionsError(
      `${where}: the connectionString of \`pool\` is malformed; ${addressForm('postgres', 'host:5432/database')}.`,
    )
  return settings
}

const migrationsSchema = z.strictObject({
  schema: schemaName,
  from: wholeNumberFrom(0, Number.MAX_SAFE_INTEGER).default(0),
})

export function checkMigrations(given: object): z.output<typeof migrationsSchema> {
  return checkOptions(migrationsSchema, given, 'postgresMigrations')
}
