/** Opens an existing store by its URL. Never creates or migrates one. */
import { statSync } from 'node:fs'
import { z } from 'zod'
import type { MessageStore, Store, StoreCapabilities, StoreHost } from '../inbox/store.ts'
import { monotonicMs, systemClock } from '../runtime/clock.ts'
import { defined } from '../runtime/values.ts'
import { flag, usage, wholeNumber, CliError, readVariable } from './command.ts'
import type { Terminal } from './terminal.ts'
import type { RedisClient } from '../stores/redis/store.ts'

/** The forms of `--store`, for help and errors. */
const STORE_FORMS = 'the path of an SQLite file, sqlite:…, file:…, postgres://…, mysql://…, redis://…, rediss://…'

/** The flag that names the spool. */
export const SPOOL_FLAG = {
  spool: flag(
    '--spool <folder>',
    'spool folder of the receivers (default: beside an SQLite file)',
    z.string().optional(),
  ),
}

/** The flags that select a store. */
export const STORE_FLAGS = {
  store: flag('--store <url>', `${STORE_FORMS}; default: the variable STORE_URL`, z.string().optional()),
  schema: flag(
    '--schema <name>',
    'Postgres: schema of the tables (default: messaging_webhooks)',
    z.string().optional(),
  ),
  prefix: flag(
    '--prefix <text>',
    'Redis: prefix of the keys (default: messaging-webhooks); MySQL: of the tables (default: messaging_webhooks)',
    z.string().optional(),
  ),
}

type StoreFlags = z.output<z.ZodObject<typeof STORE_FLAGS>>
/** The tables or keys of a store. */
export type Place = Omit<StoreFlags, 'store'>

/** The flags of a list's page. */
export function pageFlags(limit: number) {
  return {
    limit: flag('--limit <number>', 'maximum number', wholeNumber(1, 10_000).default(limit)),
    after: flag('--after <cursor>', 'continue after an earlier list', z.string().optional()),
  }
}

/** Warns if the URL in a flag has a password, which other users can see. */
export function storeUrl(store: string | undefined, { note, noteColours }: Terminal): string | undefined {
  if (store !== undefined && hasPassword(store))
    note(
      noteColours.yellow(
        "warning: the password in --store is visible in process lists and in the shell's history. Use STORE_URL.",
      ),
    )
  return store ?? readVariable('STORE_URL')
}

/** The store of the flags or the environment. Throws a `CliError` if none was given. */
export async function storeOf({ store, ...place }: StoreFlags, terminal: Terminal): Promise<Store> {
  const url = storeUrl(store, terminal)
  if (url === undefined) throw usage('No store was given.', `Pass --store or set STORE_URL: ${STORE_FORMS}.`)
  return storeAt(url, place)
}

/**
 * Opens the store without a receiver: nothing is dispatched, and the spools of running processes are not touched.
 */
export async function onStore(
  flags: StoreFlags,
  terminal: Terminal,
  work: (store: MessageStore<object>, capabilities: StoreCapabilities) => Promise<void>,
): Promise<void> {
  const store = await storeOf(flags, terminal)
  const opened = await store.open(LOOKING)
  try {
    await work(opened, store.capabilities)
  } finally {
    await opened.close()
  }
}

/** A host that leases nothing. */
const LOOKING: StoreHost = {
  nowMs: systemClock().now,
  wallMs: systemClock().now,
  elapsedMs: monotonicMs,
  onWork() {},
  onLost() {},
  inFlight: () => undefined,
  report() {},
  claims: false,
}

/** Accepts a URL, or the path of an SQLite file. Throws a `CliError` for an unknown scheme. */
export async function storeAt(url: string, { schema, prefix }: Place = {}): Promise<Store> {
  const scheme = schemeOf(url)
  const engine = scheme === undefined ? 'sqlite' : ENGINES.get(scheme)
  // Does not repeat the URL, which may contain a password.
  if (engine === undefined) throw usage(`Unknown kind of store: “${scheme ?? ''}:”.`, `Expected ${STORE_FORMS}.`)
  if (schema !== undefined && engine !== 'postgres') throw usage('--schema applies only to Postgres.')
  if (prefix !== undefined && engine !== 'redis' && engine !== 'mysql')
    throw usage('--prefix applies only to MySQL and Redis.')
  if (engine === 'postgres') {
    const { pendingPostgresMigrations, postgresStore } = await import('../stores/postgres/store.ts')
    const place = { connectionString: url, ...defined({ schema }) }
    checkMigrated(await pendingPostgresMigrations(place), '--schema')
    return postgresStore({ ...place, maxConnections: 2 })
  }
  if (engine === 'mysql') {
    const { mysqlStore, pendingMysqlMigrations } = await import('../stores/mysql/store.ts')
    const place = { uri: url, ...defined({ prefix }) }
    checkMigrated(await pendingMysqlMigrations(place), '--prefix')
    return mysqlStore({ ...place, maxConnections: 2 })
  }
  if (engine === 'redis') return redisPrefix(url, prefix)
  const { databasePath } = await import('../stores/sqlite/path.ts')
  return sqliteFile(databasePath(url, '--store'))
}

const ENGINES: ReadonlyMap<string, 'sqlite' | 'postgres' | 'mysql' | 'redis'> = new Map([
  ['sqlite', 'sqlite'],
  ['file', 'sqlite'],
  ['postgres', 'postgres'],
  ['postgresql', 'postgres'],
  ['mysql', 'mysql'],
  ['redis', 'redis'],
  ['rediss', 'redis'],
])

/** In lower case. At least two letters, because `C:` is a drive. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z+.-]+):/i.exec(url)?.[1]?.toLowerCase()
}

/** Not a path but a malformed address, which may contain a password. */
const ADDRESS_LIKE = /:\/\/|@|=/

async function sqliteFile(path: string): Promise<Store> {
  // The store would create a missing file.
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new CliError(
      'failed',
      'The SQLite file does not exist.',
      `${ADDRESS_LIKE.test(path) ? '' : `Looked for ${path}. `}--store accepts ${STORE_FORMS}.`,
    )
  const { sqliteStore } = await import('../stores/sqlite/store.ts')
  return sqliteStore(path)
}

const MIGRATE = 'messaging-webhooks migrate'

/** `flag` selects the tables. */
function checkMigrated({ from, to }: { readonly from: number; readonly to: number }, flag: string): void {
  if (from === to) return
  if (from === 0)
    throw new CliError('failed', 'The database has no tables of this package.', `Check ${flag}, or run: ${MIGRATE}`)
  const what = `The tables have version ${from}; this package requires ${to}.`
  throw new CliError('failed', what, `Run: ${MIGRATE}`)
}

async function redisPrefix(url: string, prefix = 'messaging-webhooks'): Promise<Store> {
  const { hasLayout, isOfCluster, isRedisAddress, REDIS_FORM } = await import('../stores/redis/server.ts')
  const { redisStore } = await import('../stores/redis/store.ts')
  // A client would take a part of a password for a host, or quote the URL.
  if (!isRedisAddress(url))
    throw usage('The URL of the store is invalid.', `${REDIS_FORM[0]?.toUpperCase() ?? ''}${REDIS_FORM.slice(1)}.`)
  const clients = await loadRedisPackage()
  const first = clients.single(url)
  // One client for each purpose: an ioredis 5 cluster client that reconnects soon after closing may never become ready.
  const connect = (await isOfCluster(first)) ? clients.cluster : clients.single
  if (!(await hasLayout(connect(url), prefix)))
    throw new CliError('failed', 'The server has no keys of this package.', 'Check the server and --prefix.')
  return redisStore({ client: connect(url), prefix })
}

function hasPassword(url: string): boolean {
  return /:\/\/[^/?#]*:[^/?#]+@/.test(url) || /[?&](?:ssl)?password=[^&]/.test(url)
}

/** Creates clients that are not connected. Rejects with a `CliError` if neither package is installed. */
async function loadRedisPackage(): Promise<Readonly<Record<'single' | 'cluster', (url: string) => RedisClient>>> {
  return nodeRedis()
    .catch(ioredis)
    .catch(() => {
      const what = 'A Redis store requires the package redis or ioredis, and neither is installed.'
      throw new CliError('failed', what, 'Install one: npm install redis')
    })
}

async function nodeRedis(): ReturnType<typeof loadRedisPackage> {
  const { createClient, createCluster } = await import('redis')
  return {
    single: (url) => createClient({ url }),
    cluster(url) {
      const { tls, ...access } = accessOf(url)
      return createCluster({ rootNodes: [{ url }], defaults: { ...access, ...(tls && { socket: { tls } }) } })
    },
  }
}

async function ioredis(): ReturnType<typeof loadRedisPackage> {
  const { default: loaded } = await import('ioredis')
  // Version 4 names no `Redis`.
  const { Cluster, default: Redis } = loaded
  return {
    single: (url) => new Redis(url, { lazyConnect: true }),
    cluster(url) {
      const { tls, ...access } = accessOf(url)
      return new Cluster([url], { lazyConnect: true, redisOptions: { ...access, ...(tls && { tls: {} }) } })
    },
  }
}

/** The addresses of a cluster's other nodes omit the credentials. */
function accessOf(url: string) {
  const { username, password, protocol } = new URL(url)
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: protocol === 'rediss:' && (true as const),
  }
}
