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

/** A defect: in the text of a script, what is replaced by what. */
interface Replacement {
  readonly from: string
  readonly to: string
}

export async function postgresServer(url: string, schema: string): Promise<Server> {
  const retention = { retentionDays: DAYS, deadLetterDays: DAYS, dedupeDays: DAYS }
  const postgres = postgresStore({ connectionString: url, schema, clock: 'caller', ...retention })
  let store = await postgres.open({ onWork: () => {}, claims: false })
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  const { rows: tables } = await client.query<{ readonly name: string }>(
    'SELECT tablename AS name FROM pg_catalog.pg_tables WHERE schemaname = $1',
    [schema],
  )

  return {
    async engine() {
      await store.close()
      const emptied = tables
        .filter(({ name }) => name !== 'messaging_webhooks_migrations')
        .map(({ name }) => `"${schema}"."${name}"`)
      await client.query(`TRUNCATE ${emptied.join(', ')}`)
      store = await postgres.open({ onWork: () => {}, claims: false })
      return { name: 'postgres', store, async restart() {}, async remove() {} }
    },
    async close() {
      await store.close()
      await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
      await client.end()
    },
  }
}

export async function redisServer(url: string, defect?: Replacement): Promise<Server> {
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
      const retention = { payloadMs: DAYS * DAY_MS, deadLetterMs: DAYS * DAY_MS, dedupeMs: DAYS * DAY_MS }
      open = await openRedis(
        {
          client: adapter,
          subscriber: undefined,
          prefix: `world-${(worlds += 1)}`,
          partitions: 4,
          retention,
          commandTimeoutMs: 20_000,
          pollIntervalMs: 3_600_000,
          clock: 'caller',
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
function replacing(adapter: Adapter, { from, to }: Replacement): Adapter {
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
