/** Postgres and Redis themselves, at virtual time: asked one thing at a time, so that only the seed decides what is first. */
import pg from 'pg'
import { createClient } from 'redis'
import type { OpenStore } from '../../src/inbox/store.ts'
import type { Adapter, RedisArgument } from '../../src/stores/redis/clients/connection.ts'
import { adapterOf } from '../../src/stores/redis/clients/adapter-of.ts'
import { openRedis } from '../../src/stores/redis/open.ts'
import { postgresStore } from '../../src/stores/postgres/store.ts'
import type { Engine } from './engine.ts'

/** One server for many worlds, each of which finds it empty. */
export interface Server {
  engine(): Promise<Engine>
  close(): Promise<void>
}

const DAYS = 3_650
const DAY_MS = 86_400_000

/** A defect: in the text of which function, what is replaced by what. */
interface Replacement {
  readonly name: string
  readonly from: string
  readonly to: string
}

export async function postgresServer(url: string, schema: string, defect?: Replacement): Promise<Server> {
  const retention = { retentionDays: DAYS, deadLetterDays: DAYS, dedupeDays: DAYS }
  const store = await postgresStore({ connectionString: url, schema, clock: 'caller', ...retention }).open({
    onWork: () => {},
    claims: false,
  })
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  const tables = await namesIn('pg_tables', 'schemaname', 'tablename')
  if (defect !== undefined) await replaceIn(defect)

  async function namesIn(catalog: string, ofSchema: string, name: string): Promise<readonly string[]> {
    const sql = `SELECT ${name} AS name FROM pg_catalog.${catalog} WHERE ${ofSchema} = $1`
    const { rows } = await client.query<{ readonly name: string }>(sql, [schema])
    return rows.map((row) => row.name)
  }

  async function replaceIn({ name, from, to }: Replacement): Promise<void> {
    const { rows } = await client.query<{ readonly text: string }>(
      'SELECT pg_get_functiondef(p.oid) AS text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = $2',
      [schema, name],
    )
    const [row] = rows
    if (row?.text.includes(from) !== true) throw new Error(`There is no ${from} in ${name}.`)
    await client.query(row.text.replaceAll(from, to))
  }

  return {
    async engine() {
      const emptied = tables.filter((table) => table !== 'migrations').map((table) => `"${schema}"."${table}"`)
      await client.query(`TRUNCATE ${emptied.join(', ')}`)
      return { name: 'postgres', store: { ...store, latestNowMs: undefined }, async restart() {}, async remove() {} }
    },
    async close() {
      await store.close()
      await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
      await client.end()
    },
  }
}

export async function redisServer(url: string, defect?: Omit<Replacement, 'name'>): Promise<Server> {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  const plain = adapterOf(client, 'client')
  const adapter = defect === undefined ? plain : replacing(plain, defect)
  let worlds = 0
  let open: OpenStore | undefined
  return {
    async engine() {
      await client.flushAll()
      const retention = { retentionMs: DAYS * DAY_MS, deadLetterMs: DAYS * DAY_MS, dedupeMs: DAYS * DAY_MS }
      open = await openRedis(
        {
          client: adapter,
          subscriber: undefined,
          prefix: `world-${(worlds += 1)}`,
          partitions: 4,
          retention,
          commandTimeoutMs: 20_000,
          pollIntervalMs: 3_600_000,
          serverNow: (nowMs) => nowMs,
        },
        { onWork: () => {}, claims: false },
      )
      return { name: 'redis', store: open, async restart() {}, remove: async () => open?.close() }
    },
    async close() {
      if (client.isOpen) client.destroy()
    },
  }
}

/** Sends each script as it is with the defect, and by no digest. */
function replacing(adapter: Adapter, { from, to }: Omit<Replacement, 'name'>): Adapter {
  return {
    ...adapter,
    isReady: () => adapter.isReady(),
    get lastError() {
      return adapter.lastError
    },
    send(key, args: readonly RedisArgument[]) {
      const [verb, text, ...rest] = args
      if (verb === 'EVALSHA') return Promise.reject(new Error('NOSCRIPT No matching script.'))
      if (verb !== 'EVAL' || typeof text !== 'string') return adapter.send(key, args)
      return adapter.send(key, [verb, text.replaceAll(from, to), ...rest])
    },
  }
}
