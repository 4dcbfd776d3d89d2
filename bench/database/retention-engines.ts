/** The stores of `bench/retention.ts`: each opens an empty one, and most copy what they have. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore, type Store } from 'messaging-webhooks'
import type { MessageStore } from 'messaging-webhooks/store'
import { createPartitions } from '../../src/stores/redis/partitions.ts'
import { MYSQL_URL, POSTGRES_URL, REDIS_URL, removeSchema } from '../contenders/stores.ts'
import { copyInMysql, copyInPostgres, copyInRedis, copyInSqlite, type Copying, type Run } from './copies.ts'
import { openAlone } from './calls.ts'
import { mysqlCpu } from './mysql-cpu.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { redisCpu } from './redis-cpu.ts'

export interface OpenEngine {
  readonly open: MessageStore<object>
  /** Sets the clocks of the store to so much later. Undefined: the store uses the clock of its server. */
  readonly setLater?: (ms: number) => void
  /** CPU time of the server. 0 for an engine in this process. */
  readonly serverCpuMs: () => Promise<number>
  /** Multiplies the newest messages. Undefined: fill the store instead. */
  readonly copy?: (copying: Copying) => Promise<void>
  readonly close: () => Promise<void>
}

export type EngineName = keyof typeof ENGINES

const inProcess = (): Promise<number> => Promise.resolve(0)

/** A store by the clock of this process, which goes ahead on request. */
async function openAhead(store: Store): Promise<Pick<OpenEngine, 'open'> & Required<Pick<OpenEngine, 'setLater'>>> {
  let laterMs = 0
  const host = { nowMs: () => Date.now() + laterMs, elapsedMs: () => performance.now() + laterMs }
  return { open: await openAlone(store, host), setLater: (ms) => void (laterMs = ms) }
}

const ENGINES = {
  async memory(): Promise<OpenEngine> {
    const opened = await openAhead(memoryStore({ maxEvents: 20_000_000, maxBytes: 2 ** 32 }))
    return { ...opened, serverCpuMs: inProcess, close: async () => opened.open.close() }
  },
  async sqlite(place: string): Promise<OpenEngine> {
    const { sqliteStore } = await import('messaging-webhooks/sqlite')
    const folder = await mkdtemp(join(tmpdir(), `retention-${place}-`))
    const path = join(folder, 'inbox.db')
    const opened = await openAhead(sqliteStore(path))
    return {
      ...opened,
      serverCpuMs: inProcess,
      async copy(copying) {
        const db = new DatabaseSync(path)
        copyInSqlite(db, copying)
        db.close()
      },
      async close() {
        await opened.open.close()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
  async postgres(place: string): Promise<OpenEngine> {
    const { postgresStore } = await import('messaging-webhooks/postgres')
    const { Client } = await import('pg')
    const schema = `retention_${place}`
    await removeSchema(schema)
    const client = new Client({ connectionString: POSTGRES_URL })
    await client.connect()
    const open = await openAlone(postgresStore({ connectionString: POSTGRES_URL, schema }))
    const cpu = await postgresCpu(POSTGRES_URL)
    return {
      open,
      serverCpuMs: async () => (await cpu?.readMs()) ?? NaN,
      copy: (copying) => copyInPostgres((statement) => client.query(statement), schema, copying),
      async close() {
        await open.close()
        await client.end()
        await removeSchema(schema)
      },
    }
  },
  async mysql(place: string): Promise<OpenEngine> {
    const [{ mysqlStore }, { createConnection }] = await Promise.all([
      import('messaging-webhooks/mysql'),
      import('mysql2/promise'),
    ])
    const prefix = `retention_${place}`
    const client = await createConnection(MYSQL_URL)
    const run: Run = (statement) => client.query(statement)
    const open = await openAlone(mysqlStore({ uri: MYSQL_URL, prefix }))
    const cpu = await mysqlCpu(MYSQL_URL)
    return {
      open,
      serverCpuMs: async () => (await cpu?.readMs()) ?? NaN,
      copy: (copying) => copyInMysql(run, prefix, copying),
      async close() {
        await open.close()
        for (const table of ['records', 'payloads', 'dead_letters', 'workers', 'migrations'])
          await run(`DROP TABLE ${prefix}_${table}`)
        await client.end()
      },
    }
  },
  async redis(place: string): Promise<OpenEngine> {
    const [{ redisStore }, { createClient }] = await Promise.all([import('messaging-webhooks/redis'), import('redis')])
    const url = `${REDIS_URL}/${place === 'small' ? 14 : 15}`
    const client = createClient({ url })
    await client.connect()
    if ((await client.dbSize()) > 0) throw new Error(`The Redis database ${url} is not empty.`)
    const prefix = 'retention'
    const open = await openAlone(redisStore({ client: createClient({ url }), prefix }))
    const cpu = await redisCpu(REDIS_URL)
    return {
      open,
      serverCpuMs: () => cpu.readMs(),
      async copy(copying) {
        const partitions = createPartitions(prefix, 1)
        await copyInRedis(client, (key) => partitions.of(key).base, copying)
      },
      async close() {
        await open.close()
        await client.flushDb()
        await client.close()
        await cpu.close()
      },
    }
  },
} as const

export function openEngine(name: EngineName, place: 'small' | 'large'): Promise<OpenEngine> {
  return ENGINES[name](place)
}
