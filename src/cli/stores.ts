/** Opens an existing store by its URL. Never creates or migrates one. */
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import type { OpenStore, Store, StoreCapabilities } from '../inbox/store.ts'
import { systemClock } from '../runtime/clock.ts'
import { readVariable } from './environment.ts'
import { CliError } from './exit-codes.ts'
import { shown, type Terminal } from './terminal.ts'

/** Maximum number of items of a list. */
export const MOST_A_PAGE = 10_000

/** The flags that select a store. */
export interface StoreOption {
  readonly store?: string
  readonly schema?: string
  readonly prefix?: string
}

interface StoreRow {
  /** For help texts. */
  readonly form: string
  /** The flag that selects one of several stores of a server. */
  readonly flag?: 'schema' | 'prefix'
  readonly load: (url: string, options: StoreOption) => Promise<Store>
}

const SQLITE: StoreRow = { form: 'sqlite:…', load: (url) => sqliteFile(url.replace(/^sqlite:(\/\/)?/i, '')) }
const POSTGRES: StoreRow = { form: 'postgres://…', flag: 'schema', load: postgresSchema }
const MYSQL: StoreRow = { form: 'mysql://…', flag: 'prefix', load: mysqlPrefix }
const REDIS: StoreRow = { form: 'redis://…', flag: 'prefix', load: redisPrefix }

/** One row per scheme. Each loads only its own driver. */
const STORES: ReadonlyMap<string, StoreRow> = new Map([
  ['sqlite', SQLITE],
  ['file', { form: 'file:…', load: (url) => sqliteFile(fileURLToPath(url)) }],
  ['postgres', POSTGRES],
  ['postgresql', POSTGRES],
  ['mysql', MYSQL],
  ['redis', REDIS],
  ['rediss', { ...REDIS, form: 'rediss://…' }],
])

const FORMS = [...new Set(Array.from(STORES.values(), ({ form }) => form))]

/** For help and errors. */
const STORE_FORMS = ['the path of an SQLite file', ...FORMS].join(', ')

export function addStoreOptions(command: Command): Command {
  return command
    .option('--store <url>', `${STORE_FORMS}; default: the variable STORE_URL`)
    .option('--schema <name>', 'Postgres: schema of the tables (default: messaging_webhooks)')
    .option(
      '--prefix <text>',
      'Redis: prefix of the keys (default: messaging-webhooks); MySQL: of the tables (default: messaging_webhooks)',
    )
}

/** Warns if the URL in a flag has a password, which other users can see. */
export function storeUrl({ store }: StoreOption, terminal: Terminal): string | undefined {
  if (store !== undefined && hasPassword(store))
    terminal.note(
      terminal.noteColours.yellow(
        "warning: the password in --store is visible in process lists and in the shell's history. Use STORE_URL.",
      ),
    )
  return store ?? readVariable('STORE_URL')
}

/** Throws a `CliError` if none was given. */
export function neededStoreUrl(options: StoreOption, terminal: Terminal): string {
  const url = storeUrl(options, terminal)
  if (url === undefined)
    throw new CliError('usage', 'No store was given.', `Pass --store or set STORE_URL: ${STORE_FORMS}.`)
  return url
}

/**
 * Makes it a command on an open store. Opens the store without a receiver: nothing is dispatched, and the spools of running
 * processes are not touched.
 */
export function onStore(
  command: Command,
  terminal: Terminal,
  work: (store: OpenStore<object>, capabilities: StoreCapabilities) => Promise<void>,
): void {
  addStoreOptions(command).action(async () => {
    const options = command.opts<StoreOption>()
    const url = neededStoreUrl(options, terminal)
    await explained(async () => {
      const store = await storeOf(url, options)
      const opened = await store.open({ onWork() {}, claims: false })
      try {
        await work(opened, store.capabilities)
      } finally {
        await opened.close()
      }
    })
  })
}

/** The store's latest time may be ahead if this machine's clock was set back. */
export function storeNowMs({ latestNowMs = 0 }: OpenStore<object>): number {
  return Math.max(systemClock().now(), latestNowMs)
}

/** Accepts a URL, or the path of an SQLite file. Throws a `CliError` for an unknown scheme. */
export async function storeOf(url: string, options: StoreOption = {}): Promise<Store> {
  const scheme = schemeOf(url)
  const row = scheme === undefined ? { ...SQLITE, load: sqliteFile } : STORES.get(scheme)
  // Does not repeat the URL, which may contain a password.
  if (row === undefined)
    throw new CliError('usage', `Unknown kind of store: “${scheme ?? ''}:”.`, `Expected ${STORE_FORMS}.`)
  for (const flag of ['schema', 'prefix'] as const)
    if (options[flag] !== undefined && row.flag !== flag)
      throw new CliError('usage', `--${flag} applies only to ${flag === 'schema' ? 'Postgres' : 'MySQL and Redis'}.`)
  return row.load(url, options)
}

/** In lower case. At least two letters, because `C:` is a drive. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z+.-]+):/i.exec(url)?.[1]?.toLowerCase()
}

/** Converts errors of a store into a `CliError`. The causes that shared stores report contain no credentials. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OptionsError) throw new CliError('usage', shown(error.detail ?? error.message))
    if (!(error instanceof MessagingWebhooksError)) throw error
    const [name, peer] = error.detail?.includes('mysql2') === true ? ['MySQL', 'mysql2'] : ['Postgres', 'pg']
    if (error.code === 'peer_missing')
      throw new CliError(
        'failed',
        `A ${name} store requires the package ${peer}, which is not installed.`,
        `Install it: npm install ${peer}`,
      )
    if (error.code !== 'store_failed' && error.code !== 'store_slow') throw error
    const reasons = [error.detail, error.cause instanceof Error ? error.cause.message : undefined]
    const why = reasons.filter((reason) => reason !== undefined).join(' ')
    throw new CliError('failed', `Cannot use the store. ${shown(why)}`, 'Check the URL and the server.')
  }
}

async function sqliteFile(path: string): Promise<Store> {
  // The store would create a missing file.
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new CliError(
      'failed',
      'The SQLite file does not exist.',
      `Looked for ${path}. --store accepts ${STORE_FORMS}.`,
    )
  const { sqliteStore } = await import('../stores/sqlite/store.ts')
  return sqliteStore(path)
}

async function postgresSchema(connectionString: string, { schema }: StoreOption): Promise<Store> {
  const { pendingPostgresMigrations, postgresStore } = await import('../stores/postgres/store.ts')
  const place = { connectionString, ...(schema === undefined ? {} : { schema }) }
  const { from, to } = await pendingPostgresMigrations(place)
  if (from === 0)
    throw new CliError(
      'failed',
      'The schema has no tables of this package.',
      'Check --schema, or run: messaging-webhooks migrate',
    )
  if (from < to)
    throw new CliError(
      'failed',
      `The tables have version ${from}; this package requires ${to}.`,
      'Run: messaging-webhooks migrate',
    )
  return postgresStore({ ...place, maxConnections: 2 })
}

async function mysqlPrefix(uri: string, { prefix }: StoreOption): Promise<Store> {
  const { mysqlStore, pendingMysqlMigrations } = await import('../stores/mysql/store.ts')
  const place = { uri, ...(prefix === undefined ? {} : { prefix }) }
  const { from, to } = await pendingMysqlMigrations(place)
  if (from < to)
    throw new CliError(
      'failed',
      `The database has no tables of this package, or old ones: their version is ${from}, and ${to} is required.`,
      'Check --prefix, or open the store once with an account that may create tables.',
    )
  return mysqlStore({ ...place, maxConnections: 2 })
}

async function redisPrefix(url: string, { prefix = 'messaging-webhooks' }: StoreOption): Promise<Store> {
  const { loadRedisPackage } = await import('./redis-client.ts')
  const { findPartitions, isOfCluster } = await import('../stores/redis/server.ts')
  const { redisStore } = await import('../stores/redis/store.ts')
  const clients = await loadRedisPackage()
  let first
  try {
    first = clients.single(url)
  } catch {
    // A client's error may quote the URL.
    throw new CliError(
      'usage',
      'The URL of the store is invalid.',
      'Expected for example redis://user:password@host:6379/0.',
    )
  }
  // One client for each purpose: an ioredis 5 cluster client that reconnects soon after closing may never become ready.
  const connect = (await isOfCluster(first)) ? clients.cluster : clients.single
  const partitions = await findPartitions(connect(url), prefix)
  if (partitions === undefined)
    throw new CliError('failed', 'The server has no keys of this package.', 'Check the server and --prefix.')
  return redisStore({ client: connect(url), prefix, partitions })
}

function hasPassword(url: string): boolean {
  return /:\/\/[^/?#]*:[^/?#]+@/.test(url) || /[?&](?:ssl)?password=[^&]/.test(url)
}
