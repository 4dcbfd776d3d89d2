/** The stores that the receiver is measured with: one entry each, in a location of its own that is removed afterwards. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, type Store } from 'messaging-webhooks'
import type { DatabaseCpu } from '../database/cpu.ts'
import { mysqlCpu } from '../database/mysql-cpu.ts'
import { postgresCpu } from '../database/postgres-cpu.ts'
import { redisCpu } from '../database/redis-cpu.ts'

export interface Made {
  readonly store: Store
  /** Runs maintenance that the server would soon do by itself; only a benchmark produces this many events at once. */
  readonly tidy?: () => Promise<void>
  /** Called after the store was closed. `remove`: deletes the stored data. */
  readonly close: (options: { readonly remove: boolean }) => Promise<void>
}

export interface StoreEntry {
  readonly label: string
  /** Every event is on the disk before its 204. */
  readonly durable: boolean
  /** Opens the location of that name; creates it if it does not exist. */
  readonly make: (place?: string) => Promise<Made>
  /** The server that must be running; several processes can share it. */
  readonly server?: string
  /** The durability settings that the running server reports. */
  readonly durability?: () => Promise<string>
  /** CPU time of that server. */
  readonly cpu?: () => Promise<DatabaseCpu | undefined>
}

export const POSTGRES_URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'
export const MYSQL_URL = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test'
export const REDIS_URL = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'

/** More than any round sends, so that the measured store knows all of it. */
const KNOWN_EVENTS = 20_000_000

export const STORES = {
  memory: {
    label: 'memory',
    durable: false,
    make: () => Promise.resolve({ store: memoryStore({ maxEvents: KNOWN_EVENTS }), close: () => Promise.resolve() }),
  },
  sqlite: {
    label: 'SQLite, synchronous=FULL',
    durable: true,
    durability: () => Promise.resolve('SQLite: journal_mode=WAL, synchronous=FULL, an fsync for every commit'),
    async make(place = newPlace()) {
      const { sqliteStore } = await import('messaging-webhooks/sqlite')
      const folder = join(tmpdir(), `bench-sqlite-${place}`)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return {
        store: sqliteStore(join(folder, 'inbox.db')),
        async close({ remove }) {
          if (remove) await rm(folder, { recursive: true, force: true })
        },
      }
    },
  },
  postgres: {
    label: 'Postgres',
    durable: true,
    server: POSTGRES_URL,
    async durability() {
      const names = ['fsync', 'synchronous_commit', 'wal_sync_method']
      const rows = await onPostgres(`SELECT name, setting FROM pg_settings WHERE name IN ('${names.join("', '")}')`)
      return `Postgres: ${rows.map(({ name, setting }) => `${String(name)}=${String(setting)}`).join(', ')}`
    },
    cpu: () => postgresCpu(POSTGRES_URL),
    async make(place = newPlace()) {
      const { postgresStore } = await import('messaging-webhooks/postgres')
      const schema = `bench_${place}`
      return {
        store: postgresStore({ connectionString: POSTGRES_URL, schema }),
        // Autovacuum runs once a minute; until then every claim skips over settled rows.
        async tidy() {
          const tables = await onPostgres(`SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`)
          for (const { name } of tables) await onPostgres(`VACUUM (ANALYZE) ${schema}.${String(name)}`)
        },
        async close({ remove }) {
          if (remove) await removeSchema(schema)
        },
      }
    },
  },
  mysql: {
    label: 'MySQL',
    durable: true,
    server: MYSQL_URL,
    async durability() {
      const rows = await onMysql("SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'version')")
      return `MySQL: ${rows.map(({ Variable_name: name, Value: value }) => `${String(name)}=${String(value)}`).join(', ')}`
    },
    cpu: () => mysqlCpu(MYSQL_URL),
    async make(place = newPlace()) {
      const { mysqlStore } = await import('messaging-webhooks/mysql')
      const prefix = `bench_${place}`
      return {
        store: mysqlStore({ uri: MYSQL_URL, prefix }),
        async close({ remove }) {
          if (remove) await removeTables(prefix)
        },
      }
    },
  },
  redis: {
    label: 'Redis, as its appendfsync is',
    durable: false,
    server: REDIS_URL,
    async durability() {
      const { createClient } = await import('redis')
      const client = createClient({ url: REDIS_URL })
      await client.connect()
      try {
        const found = await client.configGet(['appendonly', 'appendfsync', 'maxmemory-policy'])
        return `Redis: ${Object.entries(found)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')}`
      } finally {
        await client.close()
      }
    },
    cpu: () => redisCpu(REDIS_URL),
    async make(place = newPlace()) {
      const [{ createClient }, { redisStore }] = await Promise.all([
        import('redis'),
        import('messaging-webhooks/redis'),
      ])
      const client = createClient({ url: REDIS_URL })
      await client.connect()
      const prefix = `bench-${place}`
      return {
        store: redisStore({ client, prefix }),
        async close({ remove }) {
          const scan = { MATCH: `${prefix}*`, COUNT: 1_000 }
          if (remove) for await (const keys of client.scanIterator(scan)) if (keys.length > 0) await client.unlink(keys)
          await client.close()
        },
      }
    },
  },
} as const satisfies Readonly<Record<string, StoreEntry>>

export type StoreName = keyof typeof STORES

/** One statement on a connection of its own. */
export async function onPostgres(statement: string): Promise<readonly Record<string, unknown>[]> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Rows of one statement, on a connection of its own. */
export async function onMysql(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection(MYSQL_URL)
  try {
    const [rows] = await connection.query(statement)
    // Rows are objects unless the connection is set to return arrays.
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []
  } finally {
    await connection.end()
  }
}

async function removeTables(prefix: string): Promise<void> {
  const tables = await onMysql(`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name LIKE '${prefix.replaceAll('_', '\\_')}\\_%'`)
  for (const { name } of tables) await onMysql(`DROP TABLE \`${String(name)}\``)
}

export async function removeSchema(schema: string): Promise<void> {
  await onPostgres(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
}

/** An unused name for a location. */
export function newPlace(): string {
  return randomBytes(6).toString('hex')
}

/** The stores whose server answers; prints which ones are left out. */
export async function storesHere(): Promise<readonly StoreName[]> {
  // The keys of the table itself.
  const names = Object.keys(STORES) as StoreName[]
  const here = await Promise.all(names.map((name) => answers(STORES[name])))
  return names.filter((name, at) => {
    if (here[at] === false) console.warn(`Skipped, because its server does not answer: ${STORES[name].label}.`)
    return here[at]
  })
}

async function answers({ server }: StoreEntry): Promise<boolean> {
  if (server === undefined) return true
  const { hostname, port } = new URL(server)
  const socket = connect({ host: hostname, port: Number(port) })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
