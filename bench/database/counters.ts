/** What the servers of shared stores count themselves: round trips, bytes of the log, and syncs. */
import type { SharedStore } from '../contenders/shared.ts'
import { onMysql, onPostgres, REDIS_URL } from '../contenders/stores.ts'

/** Counts since an arbitrary moment; undefined if the server does not count it. */
interface Counters {
  readonly roundTrips?: number
  readonly logBytes?: number
  readonly syncs?: number
}

export function readCounters(store: SharedStore): Promise<Counters> {
  switch (store) {
    case 'postgres':
      return ofPostgres()
    case 'mysql':
      return ofMysql()
    case 'redis':
      return ofRedis()
    case 'sqlite':
      return Promise.resolve({})
  }
}

async function ofPostgres(): Promise<Counters> {
  const [row] = await onPostgres(`
    SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS trips,
      pg_current_wal_lsn() - '0/0'::pg_lsn AS log, (SELECT wal_sync FROM pg_stat_wal) AS syncs`)
  return { roundTrips: Number(row?.['trips']), logBytes: Number(row?.['log']), syncs: Number(row?.['syncs'] ?? NaN) }
}

/** A statement is a round trip. */
async function ofMysql(): Promise<Counters> {
  const rows = await onMysql(`SHOW GLOBAL STATUS
    WHERE Variable_name IN ('Questions', 'Innodb_os_log_written', 'Innodb_data_fsyncs')`)
  const values = new Map(rows.map((row) => [row['Variable_name'], Number(row['Value'])]))
  const of = (name: string): number => values.get(name) ?? NaN
  return { roundTrips: of('Questions'), logBytes: of('Innodb_os_log_written'), syncs: of('Innodb_data_fsyncs') }
}

async function ofRedis(): Promise<Counters> {
  const { createClient } = await import('redis')
  const client = createClient({ url: REDIS_URL })
  await client.connect()
  const [commands, persistence] = [await client.info('commandstats'), await client.info('persistence')]
  client.destroy()
  const calls = [...commands.matchAll(/^cmdstat_(?:evalsha|publish):calls=(\d+)/gm)].map(([, count]) => Number(count))
  const roundTrips = calls.reduce((sum, count) => sum + count, 0)
  const log = /^aof_current_size:(\d+)/m.exec(persistence)?.[1]
  return { roundTrips, ...(log !== undefined && { logBytes: Number(log) }) }
}
