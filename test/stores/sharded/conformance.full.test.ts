/** The contract, over two files, two schemas of Postgres and two prefixes of Redis. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresStore } from 'messaging-webhooks/postgres'
import { shardedStore } from 'messaging-webhooks/sharded'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { storeConformance, type ConformanceOptions } from 'messaging-webhooks/store-conformance'
import { describe, test } from 'vitest'
import { describePostgres, dropSchema, newSchema, POSTGRES_URL } from '../postgres/schema.ts'
import { clientFor, describeRedis, freshPrefix, REDIS_CAPABILITIES, toldStore, useRedis } from '../redis/own-redis.ts'

function conformance(options: Pick<ConformanceOptions, 'makeStore' | 'capabilities' | 'interleavings'>): void {
  storeConformance({
    ...options,
    test(name, run) {
      test(name, { timeout: 120_000 }, run)
    },
    skip(name, reason) {
      test.skip(`${name} (${reason})`)
    },
  })
}

describe('two files', () => {
  conformance({
    makeStore() {
      const folder = mkdtempSync(join(tmpdir(), 'sharded-store-'))
      const file = (name: string) => sqliteStore(join(folder, name))
      return {
        store: shardedStore({ a: file('a.db'), b: file('b.db') }),
        dispose: () => rmSync(folder, { recursive: true }),
      }
    },
    capabilities: shardedStore({ a: sqliteStore('a.db'), b: sqliteStore('b.db') }).capabilities,
    interleavings: 10,
  })
})

const inSchema = (schema: string) =>
  postgresStore({ connectionString: POSTGRES_URL, schema, clock: 'caller', maxConnections: 3 })

describePostgres('two schemas of Postgres', () => {
  conformance({
    makeStore() {
      const schemas = [newSchema(), newSchema()] as const
      return {
        store: shardedStore({ a: inSchema(schemas[0]), b: inSchema(schemas[1]) }),
        async dispose() {
          for (const schema of schemas) await dropSchema(schema)
        },
      }
    },
    capabilities: shardedStore({ a: inSchema('a'), b: inSchema('b') }).capabilities,
    interleavings: 10,
  })
})

describeRedis('two prefixes of Redis', () => {
  const server = useRedis({ appendfsync: 'no' })
  conformance({
    makeStore() {
      const clients = [clientFor('redis', server().url()), clientFor('redis', server().url())] as const
      const [a, b] = clients
      return {
        store: shardedStore({
          a: toldStore(a.client, { prefix: freshPrefix() }),
          b: toldStore(b.client, { prefix: freshPrefix() }),
        }),
        async dispose() {
          for (const client of clients) await client.end()
        },
      }
    },
    capabilities: { ...REDIS_CAPABILITIES, name: 'sharded', hasParts: true },
    interleavings: 10,
  })
})
