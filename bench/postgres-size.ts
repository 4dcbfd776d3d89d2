/**
 * What a large table costs, plain and in partitions by day: a store that holds ROWS settled events (10,000,000) of the last
 * 30 days, beside an empty one of the same kind, in turns in one run. Prints the CPU time of the database's process for events
 * of new messages, for second ones of known messages, for claiming and settling; and for a day's pruning and the
 * vacuum after it.
 *
 *     POSTGRES_URL=postgres://postgres@127.0.0.1:5432/test ROWS=10000000 node bench/postgres-size.ts
 */
import { statfsSync } from 'node:fs'
import pg from 'pg'
import type { OpenStore } from 'messaging-webhooks/store'
import { postgresStore } from 'messaging-webhooks/postgres'
import { smsReport } from './database/events.ts'
import { processStat } from './database/proc-stat.ts'
import { spreadOf } from './measure/ratios.ts'

const URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'
const ROWS = Number(process.env['ROWS'] ?? 10_000_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 7)
const BATCHES = 100
/** Events a batch, as concurrent requests would make it. */
const BATCH = 32
const DAY_MS = 86_400_000
const RETENTION_DAYS = 7
const DEDUPE_DAYS = 30
/** A row with what belongs to it; twice, for what a day's pruning and the log add. */
const BYTES_A_ROW = 2 * 800
const SPARE_BYTES = 5e9

interface Measured {
  readonly schema: string
  readonly isFull: boolean
  readonly pool: pg.Pool
  readonly open: OpenStore<object>
  /** CPU time so far of the one connection. */
  readonly cpuMs: () => number
}

const admin = new pg.Client(URL)
await admin.connect()
/** All days are whole ones from here. */
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
const NOW_MS = TODAY_MS + DAY_MS / 2

async function openStore(schema: string, isPartitioned: boolean, isFull: boolean): Promise<Measured> {
  await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  const pool = new pg.Pool({ connectionString: URL, max: 1, idleTimeoutMillis: 0 })
  const settings = { pool, schema, clock: 'caller', retentionDays: RETENTION_DAYS, dedupeDays: DEDUPE_DAYS } as const
  const store = postgresStore({
    ...settings,
    queryTimeoutMs: 600_000,
    ...(isPartitioned ? { partitions: { days: 1 } } : {}),
  })
  const open = await store.open({ onWork() {}, claims: false })
  if (isPartitioned) {
    await admin.query(`DROP TABLE ${schema}.events_before`)
    for (let day = 1; day <= DEDUPE_DAYS + 1; day += 1)
      await admin.query(`SELECT ${schema}.create_part_2(${TODAY_MS - day * DAY_MS}, ${TODAY_MS - (day - 1) * DAY_MS})`)
  }
  if (isFull) await fill(schema, isPartitioned)
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const pid = rows[0]?.pid ?? 0
  return { schema, isFull, pool, open, cpuMs: () => processStat(pid)?.cpuMs ?? Number.NaN }
}

/** As so many events leave the tables that were admitted, handed over and settled over the days. */
async function fill(schema: string, isPartitioned: boolean): Promise<void> {
  const step = 250_000
  const [fromMs, toMs] = [TODAY_MS - DEDUPE_DAYS * DAY_MS, TODAY_MS]
  const since = '($3::bigint + (n * $4::float8)::bigint)'
  for (let from = 1; from <= ROWS; from += step) {
    const values = [from, Math.min(ROWS, from + step - 1)]
    const key = `decode(md5('m' || n), 'hex')`
    const id = `decode(md5('e' || n), 'hex')`
    await admin.query(
      `INSERT INTO ${schema}.messages (id, key, steps, handed, handed_open, token${isPartitioned ? ', first_since' : ''})
         OVERRIDING SYSTEM VALUE
       SELECT n, ${key}, 0, '', '', 1${isPartitioned ? `, ${since}` : ''}
       FROM generate_series($1::bigint, $2::bigint) AS n WHERE ${since} IS NOT NULL`,
      [...values, fromMs, (toMs - fromMs) / ROWS],
    )
    await admin.query(
      `INSERT INTO ${schema}.events (message, id, ord, final, since, record, raw)
       SELECT n, ${id}, '0000000000013000000000000' || encode(${id}, 'hex'), true, ${since},
         convert_to('{"kind":"status","timestamp":1,"timestampSource":"payload","receivedAtMs":1,"proof":"both"}', 'UTF8'),
         CASE WHEN ${since} >= $5::bigint THEN convert_to(repeat('x', 270), 'UTF8') END
       FROM generate_series($1::bigint, $2::bigint) AS n`,
      [...values, fromMs, (toMs - fromMs) / ROWS, TODAY_MS - (RETENTION_DAYS + 1) * DAY_MS],
    )
    console.error(`${schema}: filled ${values[1]} of ${ROWS}`)
  }
  await admin.query(
    `SELECT setval(pg_get_serial_sequence('${schema}.messages', 'id'), (SELECT max(id) FROM ${schema}.messages))`,
  )
  for (const table of ['messages', 'events']) await admin.query(`VACUUM (ANALYZE) ${schema}.${table}`)
}

let round = 0

/** CPU time of each kind of work, in microseconds an event. */
async function work({ open, cpuMs, schema }: Measured): Promise<Readonly<Record<string, number>>> {
  round += 1
  const batches = Array.from({ length: BATCHES }, (_, batch) =>
    Array.from({ length: BATCH }, (__, index) => `${process.pid} ${schema} ${round} ${batch} ${index}`),
  )
  const admit = (at: number) => async (): Promise<void> => {
    for (const messages of batches) {
      const admissions = await open.admit(
        messages.map((message) => smsReport(message, at, NOW_MS, at > 1)),
        NOW_MS,
      )
      if (admissions.some((admission) => admission !== 'new')) throw new Error('An event was not new.')
    }
  }
  async function handOver(): Promise<void> {
    for (let left = 2 * BATCHES * BATCH; left > 0;) {
      const request = { limit: BATCH, nowMs: NOW_MS, leaseUntilMs: NOW_MS + 60_000, exclude: new Set<string>() }
      const { claims } = await open.claim(request)
      await open.settle(
        claims.map(({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' })),
        NOW_MS,
      )
      left -= claims.length
    }
  }
  async function measured(events: number, run: () => Promise<void>): Promise<number> {
    const before = cpuMs()
    await run()
    return ((cpuMs() - before) * 1_000) / events
  }
  const events = BATCHES * BATCH
  return {
    'events of new messages': await measured(events, admit(1)),
    'second events': await measured(events, admit(2)),
    'claim and settle': await measured(2 * events, handOver),
  }
}

/** CPU time of a day's pruning, and of the vacuum that follows it, in milliseconds; and the dead rows that it has to see to. */
async function pruneDay({ open, cpuMs, schema, pool }: Measured, nowMs: number): Promise<readonly number[]> {
  const before = cpuMs()
  while ((await open.prune(nowMs)) > 0);
  const pruned = cpuMs()
  const { rows } = await admin.query<{ dead: string }>(
    `SELECT pg_stat_force_next_flush(), coalesce(sum(n_dead_tup), 0) AS dead FROM pg_stat_user_tables
     WHERE schemaname = '${schema}' AND relname LIKE 'events%' AND relname NOT LIKE '%full'`,
  )
  await pool.query(`VACUUM ${schema}.messages`)
  const vacuumed = cpuMs()
  await pool.query(`SET statement_timeout = 0`)
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_stat_user_tables
     WHERE schemaname = '${schema}' AND relname LIKE 'events%' AND relname NOT LIKE '%full' AND n_dead_tup > 50`,
  )
  const beforeEvents = cpuMs()
  for (const { name } of tables) await pool.query(`VACUUM ${schema}.${name}`)
  return [pruned - before, vacuumed - pruned, cpuMs() - beforeEvents, Number(rows[0]?.dead)]
}

const stats = statfsSync('/')
if (stats.bavail * stats.bsize < 2 * ROWS * BYTES_A_ROW + SPARE_BYTES)
  throw new Error('There is too little disk for ROWS.')
const SCHEMAS = ['mw_size_plain_empty', 'mw_size_plain_full', 'mw_size_parts_empty', 'mw_size_parts_full']
const stores: Measured[] = []
try {
  for (const schema of SCHEMAS) stores.push(await openStore(schema, schema.includes('parts'), schema.endsWith('full')))
  for (const store of stores) {
    // Whatever is due already; and caches and plans.
    while ((await store.open.prune(NOW_MS)) > 0);
    await work(store)
  }
  const rounds: Readonly<Record<string, number>>[][] = stores.map(() => [])
  for (let each = 0; each < ROUNDS; each += 1) {
    await admin.query('CHECKPOINT')
    for (const [index, store] of [...stores.entries()].toSorted(() => (each % 2 === 0 ? 1 : -1)))
      rounds[index]?.push(await work(store))
  }
  const [plainEmpty = [], plainFull = [], partsEmpty = [], partsFull = []] = rounds
  const ratio = (kind: string, of: typeof plainEmpty, to: typeof plainEmpty): string => {
    const { median, least, most } = spreadOf(of.map((row, at) => (row[kind] ?? NaN) / (to[at]?.[kind] ?? NaN)))
    return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
  }
  for (const kind of Object.keys(plainEmpty[0] ?? {})) {
    console.log(
      `${kind}: ${spreadOf(plainEmpty.map((row) => row[kind] ?? NaN)).median.toFixed(0)} us of CPU in an empty plain store`,
    )
    console.log(`  plain, ${ROWS} rows to empty: ${ratio(kind, plainFull, plainEmpty)}`)
    console.log(`  partitions, ${ROWS} rows to empty: ${ratio(kind, partsFull, partsEmpty)}`)
    console.log(`  empty, partitions to plain: ${ratio(kind, partsEmpty, plainEmpty)}`)
    console.log(`  ${ROWS} rows, partitions to plain: ${ratio(kind, partsFull, plainFull)}`)
  }
  for (let day = 1; day <= 3; day += 1)
    for (const store of stores) {
      const [pruning = NaN, messages = NaN, events = NaN, dead = NaN] = await pruneDay(store, NOW_MS + day * DAY_MS)
      console.log(
        `${store.schema}, day ${day}: prune ${pruning} ms, vacuum of messages ${messages} ms, of events ${events} ms, dead rows of events ${dead}`,
      )
    }
} finally {
  for (const { open, pool } of stores) {
    await open.close()
    await pool.end()
  }
  for (const schema of SCHEMAS) await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await admin.end()
}
