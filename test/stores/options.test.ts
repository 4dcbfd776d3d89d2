/** Store settings are validated like the receiver's: by name, with range, unit and a suggestion. */
import { memoryStore, OptionsError } from 'messaging-webhooks'
import { mysqlMigrations, mysqlStore, pendingMysqlMigrations } from 'messaging-webhooks/mysql'
import {
  migratePostgres,
  pendingPostgresMigrations,
  postgresMigrations,
  postgresStore,
} from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { createClient } from 'redis'
import { expect, test } from 'vitest'

const PASSWORD = 'PASSWORD-THAT-NO-TEXT-MAY-SHOW'
const connectionString = `postgres://app:${PASSWORD}@127.0.0.1:1/app`
const uri = `mysql://app:${PASSWORD}@127.0.0.1:1/app`
const client = createClient()
const path = 'never-opened.db'

const REFUSED: readonly (readonly [make: (...input: never[]) => unknown, options: unknown, says: string])[] = [
  [memoryStore, { maxEvent: 5 }, 'Invalid option for memoryStore: maxEvent. Did you mean maxEvents?'],
  [memoryStore, { dedupeDays: 'thirty' }, 'dedupeDays is a string; expected a number of days above 0'],
  [memoryStore, 5, 'memoryStore: options is a number; expected an object such as { maxEvents'],
  [sqliteStore, { path, dedupDays: 3 }, 'Invalid option for sqliteStore: dedupDays. Did you mean dedupeDays?'],
  [sqliteStore, { path, synchronous: 'full' }, 'synchronous is a string; expected one of FULL, NORMAL, OFF'],
  [sqliteStore, { path, busyTimeoutMs: 2 ** 31 }, 'a number of milliseconds above 0 and at most 2,147,483,647'],
  [sqliteStore, {}, 'sqliteStore: path is undefined; expected the path of a file'],
  [postgresStore, { connectionString, transactionl: true }, 'Did you mean transactional?'],
  [postgresStore, { connectionString, pool: {} }, 'pool is an object; expected a pool of the package pg'],
  [
    postgresStore,
    { connectionString, lockTimeoutMs: '3 s' },
    'postgresStore: lockTimeoutMs is a string; expected a number of milliseconds',
  ],
  [postgresStore, { connectionString, transactional: 'yes' }, 'transactional is a string; expected true or false'],
  [postgresStore, { connectionString, clock: Date.now }, 'clock is a function; expected one of server, caller'],
  [
    migratePostgres,
    { connectionString, shema: 'x' },
    'Invalid option for migratePostgres: shema. Did you mean schema?',
  ],
  [pendingPostgresMigrations, { connectionString, Schema: 'x' }, 'Did you mean schema?'],
  [postgresMigrations, { form: 1 }, 'Invalid option for postgresMigrations: form. Did you mean from?'],
  [postgresMigrations, { from: -1 }, 'from is -1; expected a whole number from 0'],
  [mysqlStore, { uri, transactionl: true }, 'Invalid option for mysqlStore: transactionl. Did you mean transactional?'],
  [mysqlStore, {}, 'mysqlStore: give either `pool` or `uri`'],
  [mysqlStore, { uri: '' }, 'uri is an empty string; expected mysql://user:password@host:3306/database'],
  [
    mysqlStore,
    { uri: `app:${PASSWORD}@127.0.0.1/app` },
    'uri is a string; expected mysql://user:password@host:3306/database',
  ],
  [mysqlStore, { uri: `postgres://app:${PASSWORD}@127.0.0.1/app` }, 'uri is a string; expected mysql://'],
  [mysqlStore, { uri: `mysql://app:${PASSWORD}@127.0.0.1:99999/app` }, 'uri is a string; expected mysql://'],
  [mysqlStore, { uri: `mysql://app:${PASSWORD}%ZZ@127.0.0.1/app` }, 'uri is a string; expected mysql://'],
  [mysqlStore, { uri, pool: {} }, 'pool is an object; expected a pool of mysql2/promise'],
  [
    mysqlStore,
    { uri, prefix: 'Mine' },
    'prefix is a string; expected 1 to 40 lower-case letters, digits and underscores',
  ],
  [mysqlStore, { uri, prefix: 'a'.repeat(41) }, 'prefix is a string; expected 1 to 40 lower-case letters'],
  [mysqlStore, { uri, maxConnections: 0 }, 'maxConnections is 0; expected a whole number from 1 to 10,000'],
  [mysqlStore, { uri, lockTimeoutMs: '3 s' }, 'lockTimeoutMs is a string; expected a number of milliseconds above 0'],
  [mysqlStore, { uri, pollIntervalMs: -5 }, 'pollIntervalMs is -5; expected a number of milliseconds above 0'],
  [mysqlStore, { uri, dedupeDays: Number.NaN }, 'dedupeDays is NaN; expected a number of days above 0'],
  [mysqlStore, { uri, transactional: 'yes' }, 'transactional is a string; expected true or false'],
  [mysqlStore, { uri, clock: Date.now }, 'clock is a function; expected one of server, caller'],
  [pendingMysqlMigrations, { uri, Prefix: 'x' }, 'Did you mean prefix?'],
  [mysqlMigrations, { prefx: 'x' }, 'Invalid option for mysqlMigrations: prefx. Did you mean prefix?'],
  [redisStore, { client, prefx: 'x' }, 'Invalid option for redisStore: prefx. Did you mean prefix?'],
  [redisStore, { client, partitions: 1.5 }, 'partitions is 1.5; expected a whole number from 1 to 16,384'],
  [redisStore, { client, prefix: `{${PASSWORD}}` }, 'prefix is a string; expected a string without braces'],
  [redisStore, { client, prefix: '' }, 'prefix'],
  [redisStore, { client, retentionDays: -1 }, 'retentionDays'],
  [redisStore, { client, deadLetterDays: 0 }, 'deadLetterDays'],
  [redisStore, { client, dedupeDays: Number.NaN }, 'dedupeDays'],
  [redisStore, { client, commandTimeoutMs: 0 }, 'commandTimeoutMs'],
  [redisStore, { client, pollIntervalMs: -5 }, 'pollIntervalMs'],
  [postgresStore, {}, 'either `pool` or `connectionString`'],
  [postgresStore, { connectionString: '' }, 'connectionString is an empty string'],
  [postgresStore, { connectionString, schema: '' }, 'schema'],
  [postgresStore, { connectionString, schema: 'ü'.repeat(32) }, '63 bytes'],
  [postgresStore, { connectionString, retentionDays: 0 }, 'retentionDays is 0; expected a number of days above 0'],
  [postgresStore, { connectionString, maxConnections: Number.NaN }, 'maxConnections is NaN'],
  [sqliteStore, '', 'path'],
  [sqliteStore, ':memory:', 'memoryStore'],
  [sqliteStore, { path: 'x.db', retentionDays: 0 }, 'retentionDays'],
]

test.each(REFUSED)('rejects option names and values: %o %o', async (make, options, says) => {
  let thrown: unknown
  try {
    await Reflect.apply(make, undefined, [options])
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(OptionsError)
  expect(String(thrown)).toContain(says)
  expect(String(thrown)).not.toContain(PASSWORD)
})

test('one settings object serves the store and the functions that migrate it', () => {
  const settings = { connectionString, schema: 'of_mine', retentionDays: 3 }
  expect(postgresStore(settings).capabilities.name).toBe('postgres')
  expect(postgresMigrations({ schema: settings.schema })).toContain('of_mine')
})

test('undefined options use their defaults', () => {
  expect(memoryStore({ maxEvents: undefined }).capabilities.name).toBe('memory')
  expect(sqliteStore({ path, synchronous: undefined }).capabilities.name).toBe('sqlite')
  expect(postgresStore({ connectionString, pool: undefined, schema: undefined }).capabilities.name).toBe('postgres')
  expect(mysqlStore({ uri, pool: undefined, prefix: undefined }).capabilities.name).toBe('mysql')
  expect(redisStore({ client, subscriber: undefined, partitions: undefined }).capabilities.name).toBe('redis')
})
