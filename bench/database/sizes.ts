/** What the tables of a store of its own take in each database, and how to rebuild them. */
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from 'messaging-webhooks'
import { SHARED_STORES, type SharedStore } from '../contenders/shared.ts'
import { newPlace, onMysql, onPostgres, REDIS_URL, type StoreEntry } from '../contenders/stores.ts'

interface TableSize {
  readonly table: number
  /** Undefined if they cannot be told apart. */
  readonly indexes: number | undefined
}

interface Sizes {
  readonly payloads: TableSize
  readonly records: TableSize
  /** With everything else and, if the database says, with its free space. */
  readonly all: number
  /** The append-only file of Redis, which has everything in memory. */
  readonly log?: number
}

interface Engine {
  sizes(): Promise<Sizes>
  rebuild(): Promise<void>
}

export interface Place extends Engine {
  readonly store: Store
  remove(): Promise<void>
}

type Row = Readonly<Record<string, unknown>>

const POLL_MS = 100

/** A store of its own, in which nothing is stored yet. */
export async function createPlace(name: SharedStore): Promise<Place> {
  const place = newPlace()
  const entry: StoreEntry = SHARED_STORES[name]
  const made = await entry.make(place)
  const engine = await ENGINES[name](place)
  return { ...engine, store: made.store, remove: () => made.close({ remove: true }) }
}

const ENGINES: Readonly<Record<SharedStore, (place: string) => Promise<Engine>>> = {
  async postgres(place) {
    const schema = `bench_${place}`
    const read = (): Promise<readonly Row[]> =>
      onPostgres(`SELECT relname AS name, pg_table_size(oid) AS bytes, pg_indexes_size(oid) AS indexes
        FROM pg_class WHERE relkind = 'r' AND relnamespace = '${schema}'::regnamespace`)
    return {
      sizes: async () => sizesOf(await read()),
      async rebuild() {
        for (const { name } of await read()) await onPostgres(`VACUUM (FULL) ${schema}.${String(name)}`)
      },
    }
  },

  async mysql(place) {
    const prefix = `bench_${place}_`
    async function read(): Promise<readonly Row[]> {
      const from = `FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '${prefix}%'`
      const tables = await onMysql(`SELECT table_name AS name ${from}`)
      // The lengths are those of the last analysis.
      for (const { name } of tables) await onMysql(`ANALYZE TABLE \`${String(name)}\``)
      return onMysql(`SELECT SUBSTR(table_name, ${prefix.length + 1}) AS name, data_length AS bytes,
        index_length AS indexes, data_free AS free ${from}`)
    }
    return {
      sizes: async () => sizesOf(await read()),
      async rebuild() {
        for (const { name } of await read()) await onMysql(`OPTIMIZE TABLE \`${prefix}${String(name)}\``)
      },
    }
  },

  async sqlite(place) {
    const path = join(tmpdir(), `bench-sqlite-${place}`, 'inbox.db')
    function onFile<T>(use: (db: DatabaseSync) => T): T {
      const db = new DatabaseSync(path)
      try {
        return use(db)
      } finally {
        db.close()
      }
    }
    const PAGES = /* sql */ `SELECT s.tbl_name AS name, sum(iif(s.type = 'table', d.pgsize, 0)) AS bytes,
      sum(iif(s.type = 'index', d.pgsize, 0)) AS indexes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name GROUP BY 1`
    return {
      sizes: async () => ({ ...sizesOf(onFile((db) => db.prepare(PAGES).all())), all: statSync(path).size }),
      async rebuild() {
        onFile((db) => db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'))
      },
    }
  },

  async redis(place) {
    const { createClient } = await import('redis')
    async function withClient<T>(use: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T> {
      const client = createClient({ url: REDIS_URL })
      await client.connect()
      try {
        return await use(client)
      } finally {
        client.destroy()
      }
    }
    const info = (section: string, name: string): Promise<number> =>
      withClient(async (client) => numberOf(await client.info(section), name))
    async function rewrite(): Promise<void> {
      if (Number.isNaN(await info('persistence', 'aof_current_size'))) return
      await withClient((client) => client.sendCommand(['BGREWRITEAOF']))
      do await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      while ((await info('persistence', 'aof_rewrite_in_progress')) !== 0)
    }
    // Removes what earlier stores wrote.
    await rewrite()
    const memoryBefore = await info('memory', 'used_memory')
    const fileBefore = await info('persistence', 'aof_current_size')
    return {
      async sizes() {
        const memoryOf = (pattern: string): Promise<number> =>
          withClient(async (client) => {
            let bytes = 0
            for await (const keys of client.scanIterator({ MATCH: `bench-${place}:{*}:${pattern}`, COUNT: 1_000 }))
              for (const each of await Promise.all(keys.map((key) => client.memoryUsage(key, { SAMPLES: 1_000 }))))
                bytes += each ?? 0
            return bytes
          })
        const [payloads, ofEvents, ofRecords] = [
          await memoryOf('p:*'),
          await memoryOf('events'),
          await memoryOf('records'),
        ]
        const all = (await info('memory', 'used_memory')) - memoryBefore
        const log = (await info('persistence', 'aof_current_size')) - fileBefore
        return {
          payloads: { table: payloads, indexes: ofEvents },
          records: { table: all - payloads - ofEvents - ofRecords, indexes: ofRecords },
          all,
          ...(Number.isNaN(log) ? {} : { log }),
        }
      },
      rebuild: rewrite,
    }
  },
}

function numberOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? NaN)
}

/** Of rows with a table's name, its bytes, those of its indexes, and its free space. */
function sizesOf(rows: readonly Row[]): Sizes {
  const of = (row: Row | undefined, column: string): number => Number(row?.[column] ?? 0)
  const sizeOf = (name: string): TableSize => {
    const row = rows.find((each) => each['name'] === name)
    return { table: of(row, 'bytes'), indexes: of(row, 'indexes') }
  }
  const all = rows.reduce((sum, row) => sum + of(row, 'bytes') + of(row, 'indexes') + of(row, 'free'), 0)
  return { payloads: sizeOf('payloads'), records: sizeOf('records'), all }
}
