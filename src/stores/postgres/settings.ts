/** Checks the settings of a Postgres store and fills in defaults. */
import type { Pool } from 'pg'
import { z } from 'zod'
import { checkOptions, hasMethods, millisecondsAboveZero, wholeNumberFrom } from '../../runtime/check-options.ts'
import { OptionsError } from '../../public/errors.ts'
import { addressForm, isAddress } from '../address.ts'
import { SQL_SETTINGS } from '../sql/connecting.ts'

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

const settingsSchema = z.strictObject({
  pool: z
    .custom<Pool>((value) => hasMethods(value, ['connect', 'query', 'on']), 'expected a pool of the package pg')
    .optional(),
  connectionString: address.optional(),
  listenConnectionString: address.optional(),
  schema: schemaName,
  ...SQL_SETTINGS,
  pollIntervalMs: millisecondsAboveZero.default(5_000),
  probeIntervalMs: millisecondsAboveZero.default(60_000),
})

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
