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
import { inspect } from 'node:util'
import pg from 'pg'
import { createClient, createCluster } from 'redis'
import { expect, test } from 'vitest'
import { ownStore } from '../../examples/store-of-your-own.ts'
import { hostOf } from '../support/stores.ts'

const PASSWORD = 'PASSWORD-THAT-NO-TEXT-MAY-SHOW'
const connectionString = `postgres://app:${PASSWORD}@127.0.0.1:1/app`
const uri = `mysql://app:${PASSWORD}@127.0.0.1:1/app`
const client = createClient()
const path = 'never-opened.db'
const openOwnStore = (options: Parameters<typeof ownStore>[1]) => ownStore(':memory:', options).open(hostOf())

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
  [openOwnStore, { retentionDays: 0 }, 'openRecordStore: retentionDays is 0; expected a number of days above 0'],
  [openOwnStore, { dedupeDays: Number.NaN }, 'openRecordStore: dedupeDays is NaN; expected a number of days above 0'],
  [openOwnStore, { dedupDays: 3 }, 'Invalid option for openRecordStore: dedupDays. Did you mean dedupeDays?'],
]

/** Addresses with a part of the password where a driver reads a host, and others that no driver reads as they are meant. */
const malformed = (scheme: string): readonly string[] => [
  `${scheme}://app:x@${PASSWORD}@127.0.0.1:1/app`,
  `${scheme}://app:x@${PASSWORD}#y@127.0.0.1:1/app`,
  `${scheme}://app:${PASSWORD}#y@127.0.0.1:1/app`,
  `${scheme}://app:1#${PASSWORD}@127.0.0.1:1/app`,
  `${scheme}://app:1/${PASSWORD}@127.0.0.1:1/app`,
  `${scheme}://app:1?${PASSWORD}@127.0.0.1:1/app`,
  `${scheme}://app:${PASSWORD}@127.0.0.1:1/app#fragment`,
  `${scheme}://app:${PASSWORD}@127.0.0.1:port/app`,
  `${scheme}://app:${PASSWORD}%ZZ@127.0.0.1:1/app`,
  `"${scheme}://app:${PASSWORD}@127.0.0.1:1/app"`,
  `'${scheme}://app:${PASSWORD}@127.0.0.1:1/app'`,
  `${scheme}://app:${PASSWORD}@127.0.0.1:1/app"`,
  `${scheme}://app:${PASSWORD}@127.0.0.1:1/app\n`,
  ` ${scheme}://app:${PASSWORD}@127.0.0.1:1/app`,
  `jdbc:${scheme}://127.0.0.1:1/app?user=app&password=${PASSWORD}`,
  `host=127.0.0.1 port=1 user=app password=${PASSWORD}`,
  `app:${PASSWORD}@tcp(127.0.0.1:1)/app`,
  `127.0.0.1:1/app?password=${PASSWORD}`,
]

test.each<readonly [name: string, option: string, make: (address: string) => unknown, scheme: string]>([
  ['postgresStore', 'connectionString', (connectionString) => postgresStore({ connectionString }), 'postgres'],
  ['postgresStore', 'connectionString', (connectionString) => postgresStore({ connectionString }), 'postgresql'],
  [
    'postgresStore',
    'listenConnectionString',
    (address) => postgresStore({ connectionString, listenConnectionString: address }),
    'postgres',
  ],
  [
    'postgresStore',
    'pool',
    (address) => postgresStore({ pool: new pg.Pool({ connectionString: address }) }),
    'postgres',
  ],
  ['migratePostgres', 'connectionString', (address) => migratePostgres({ connectionString: address }), 'postgres'],
  ['mysqlStore', 'uri', (address) => mysqlStore({ uri: address }), 'mysql'],
  ['pendingMysqlMigrations', 'uri', (address) => pendingMysqlMigrations({ uri: address }), 'mysql'],
  ['redisStore', 'client', (url) => redisStore({ client: createClient({ url }) }), 'redis'],
  ['redisStore', 'subscriber', (url) => redisStore({ client, subscriber: createClient({ url }) }), 'rediss'],
  ['redisStore', 'client', (url) => redisStore({ client: createCluster({ rootNodes: [{ url }] }) }), 'redis'],
])('%s refuses a malformed %s at once, without any of its text', async (name, option, make, scheme) => {
  for (const address of malformed(scheme)) {
    let thrown: unknown
    try {
      await make(address)
    } catch (error) {
      thrown = error
    }
    // The client of `redis` refuses some itself.
    if (name === 'redisStore' && (thrown instanceof TypeError || thrown instanceof URIError)) continue
    expect(thrown, address).toBeInstanceOf(OptionsError)
    expect(String(thrown)).toMatch(new RegExp(`${name}: .*${option}.*; expected \\w+://user:password@host.*%40 %23`))
    expect(inspect(thrown)).not.toContain(PASSWORD)
  }
})

test.each([
  'postgres://127.0.0.1/app',
  'postgresql://app@db.invalid:5432/app?sslmode=verify-full&application_name=my%40app',
  'postgres://app:p%40s%23s%2F%3F%3A:!$&*()@[::1]:5432/app',
  'postgres://app:secret@db1.invalid:5432,db2.invalid:5432/app',
  'postgres://%2Fvar%2Frun%2Fpostgresql/app',
  'postgres:///app?host=/var/run/postgresql',
])('postgresStore accepts %s', (address) => {
  expect(postgresStore({ connectionString: address }).capabilities.name).toBe('postgres')
  const pool = new pg.Pool({ connectionString: address })
  expect(postgresStore({ pool }).capabilities.name).toBe('postgres')
})

test('other stores accept escaped characters, and an application its own way to a socket', () => {
  expect(mysqlStore({ uri: 'mysql://app:p%40s%23s@[::1]:3306/app' }).capabilities.name).toBe('mysql')
  for (const url of ['redis://127.0.0.1', 'rediss://app:p%40s%23s@db.invalid:6379/0', 'redis://:secret@db.invalid'])
    expect(redisStore({ client: createClient({ url }) }).capabilities.name).toBe('redis')
  const pool = new pg.Pool({ connectionString: '/var/run/postgresql app' })
  expect(postgresStore({ pool }).capabilities.name).toBe('postgres')
})

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
