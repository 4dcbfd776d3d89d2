/**
 * Cost of a table with millions of rows: admissions into an empty Postgres store and into one that holds ROWS settled
 * events (5,000,000), alternating in one run, while pruning runs. Prints the rate and p99 of each and their ratio.
 *
 *     POSTGRES_URL=postgres://postgres@127.0.0.1:5432/test ROWS=5000000 node bench/postgres-rows.ts
 */
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import type { NewEvent, OpenStore } from 'messaging-webhooks/store'
import { postgresStore } from 'messaging-webhooks/postgres'
import { smsReport } from './database/events.ts'

const URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'
const ROWS = Number(process.env['ROWS'] ?? 5_000_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 6)
const ROUND_MS = Number(process.env['SECONDS'] ?? 5) * 1_000
/** Events in a batch, as concurrent requests produce it. */
const BATCH = 32
const DAY_MS = 86_400_000

const EMPTY = 'mw_bench_empty'
const FULL = 'mw_bench_full'

let number = 0

function event(): NewEvent {
  return smsReport(`${process.pid} ${(number += 1)}`, 1, Date.now(), true)
}

/** Fills the tables as if these events had been admitted, dispatched and settled over ten days. */
async function fill(client: pg.Client, schema: string, rows: number): Promise<void> {
  const now = Date.now()
  const step = 500_000
  const key = `decode(substr(encode(sha256(('m' || n)::bytea), 'hex'), 1, 32), 'hex')`
  const id = `decode(substr(encode(sha256(('e' || n)::bytea), 'hex'), 1, 32), 'hex')`
  const atMs = `$3::bigint + (n * $4::float8)::bigint`
  const number = `(${atMs}) * 1000000 + n % 1000000`
  for (let from = 1; from <= rows; from += step) {
    const to = Math.min(rows, from + step - 1)
    const values = [from, to, now - 10 * DAY_MS, (10 * DAY_MS) / rows]
    await client.query(
      `INSERT INTO ${schema}.records (number, key, version, state, reports)
       SELECT ${number}, ${key}, 1, convert_to(format('[1,%s,1,"",0,["%s",%s,2],0]', ${atMs}, encode(${id}, 'hex'), ${atMs}), 'UTF8'), '[]'::bytea
       FROM generate_series($1::bigint, $2::bigint) AS n`,
      values,
    )
    await client.query(
      `INSERT INTO ${schema}.payloads (record, id, admitted_at, event, raw)
       SELECT ${number}, ${id}, ${atMs},
         convert_to('{"kind":"status","timestamp":1,"timestampSource":"payload","receivedAtMs":1,"proof":"both"}', 'UTF8'),
         convert_to(repeat('x', 270), 'UTF8') FROM generate_series($1::bigint, $2::bigint) AS n`,
      values,
    )
    console.error(`filled ${to} of ${rows}`)
  }
  for (const table of ['records', 'payloads']) await client.query(`VACUUM (ANALYZE) ${schema}.${table}`)
}

interface Measured {
  readonly admitted: number
  readonly batchMs: readonly number[]
}

/** Admits batch after batch, as one process does under load, and prunes once a second. */
async function measure(open: OpenStore<object>): Promise<Measured> {
  const batchMs: number[] = []
  let admitted = 0
  const untilMs = performance.now() + ROUND_MS
  let pruning: Promise<unknown> = Promise.resolve()
  const pruner = setInterval(() => {
    pruning = Promise.resolve(open.prune(Date.now()))
  }, 1_000)
  while (performance.now() < untilMs) {
    const events = Array.from({ length: BATCH }, event)
    const startedMs = performance.now()
    const admissions = await open.admit(events, Date.now())
    batchMs.push(performance.now() - startedMs)
    if (admissions.some((admission) => admission !== 'new')) throw new Error('An event was not new.')
    admitted += admissions.length
  }
  clearInterval(pruner)
  await pruning
  return { admitted, batchMs }
}

function summary(rounds: readonly Measured[]): { readonly rate: number; readonly p50: number; readonly p99: number } {
  const sorted = rounds.flatMap(({ batchMs }) => batchMs).toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  const seconds = sorted.reduce((sum, ms) => sum + ms, 0) / 1_000
  return { rate: rounds.reduce((sum, { admitted }) => sum + admitted, 0) / seconds, p50: at(0.5), p99: at(0.99) }
}

const admin = new pg.Client(URL)
await admin.connect()
for (const schema of [EMPTY, FULL]) await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
const host = { onWork() {}, claims: false }
const empty = await postgresStore({ connectionString: URL, schema: EMPTY }).open(host)
const full = await postgresStore({ connectionString: URL, schema: FULL }).open(host)
try {
  await fill(admin, FULL, ROWS)
  const rounds: { readonly empty: Measured[]; readonly full: Measured[] } = { empty: [], full: [] }
  // The first pass of each warms the caches and brings the server's log to the same length for both.
  for (const open of [empty, full]) {
    await admin.query('CHECKPOINT')
    await measure(open)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of round % 2 === 0 ? (['empty', 'full'] as const) : (['full', 'empty'] as const)) {
      await admin.query('CHECKPOINT')
      rounds[name].push(await measure(name === 'empty' ? empty : full))
    }
  }
  const [small, large] = [summary(rounds.empty), summary(rounds.full)]
  const rows = [
    ['empty table', small],
    [`${ROWS} rows`, large],
  ] as const
  for (const [name, { rate, p50, p99 }] of rows)
    console.log(
      `${name}: ${rate.toFixed(0)} events/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms a batch of ${BATCH}`,
    )
  console.log(`rate ${(small.rate / large.rate).toFixed(2)}x, p99 ${(large.p99 / small.p99).toFixed(2)}x`)
} finally {
  await empty.close()
  await full.close()
  for (const schema of [EMPTY, FULL]) await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await admin.end()
}
