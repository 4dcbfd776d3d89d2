/**
 * What the functions of the Postgres store save: EVENTS new events (3,000) a round are admitted under a lease and settled,
 * through the store's functions and by the same statements sent one by one, as text and with kept plans; in turns in one
 * run, for batches of one event and of sixteen. Prints the round trips of an event, and the CPU time of the connection's
 * server process, of which the ratio of a round counts; shown is the median, with the least and the most.
 *
 *     POSTGRES_URL=postgres://postgres@127.0.0.1:5432/test npm run bench:functions
 */
import pg from 'pg'
import type { NewEvent } from 'messaging-webhooks/store'
import { postgresStore } from 'messaging-webhooks/postgres'
import { processStat } from './database/proc-stat.ts'
import { ratioOf, type Spread } from './measure/ratios.ts'
import { freshEvents } from './micro/events.ts'

const URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'
const EVENTS = Number(process.env['EVENTS'] ?? 3_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 5)
const BATCHES = [1, 16]
const LEASE_MS = 60_000
const TOKEN = 1

/** One way of doing it, on a connection of its own. */
interface Way {
  readonly name: string
  readonly pid: number
  /** How often it was waited for an answer. */
  trips(): number
  handle(events: readonly NewEvent[]): Promise<void>
  close(): Promise<void>
}

async function pidOf(client: Pick<pg.ClientBase, 'query'>): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}

async function byFunctions(schema: string): Promise<Way> {
  // The same connection all the time.
  const pool = new pg.Pool({ connectionString: URL, max: 1, idleTimeoutMillis: 0 })
  const open = await postgresStore({ pool, schema }).open({ onWork() {}, claims: false })
  const pid = await pidOf(pool)
  let trips = 0
  pool.on('acquire', () => (trips += 1))
  return {
    name: 'functions',
    pid,
    trips: () => trips,
    async handle(events) {
      const nowMs = Date.now()
      const request = { limit: events.length, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set<string>() }
      const { claims = [] } = (await open.admitAndClaim?.(events, request)) ?? {}
      const settlements = claims.map(
        ({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' }) as const,
      )
      const held = await open.settle(settlements, nowMs)
      if (held.filter(Boolean).length !== events.length) throw new Error('An event was not settled.')
    },
    async close() {
      await open.close()
      await pool.end()
    },
  }
}

/** What the functions do with an event of a new message: `$1` and so on are its parts. */
function statementsOn(schema: string) {
  return {
    message: `INSERT INTO ${schema}.messages (key, steps, handed, handed_open, token) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (key) DO NOTHING RETURNING id`,
    event: `INSERT INTO ${schema}.events (message, id, ord, final, since, record, raw) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    waiting: `INSERT INTO ${schema}.waiting
      (message, ord, id, final, awaits, late, admitted, due, attempts, token, turn, leased)
      VALUES ($1, $2, $3, $4, $5, false, $6, $6, 1, $7, $8, true)`,
    known: `SELECT m.id, m.steps FROM ${schema}.messages m WHERE m.key = $1 FOR UPDATE`,
    settled: `DELETE FROM ${schema}.waiting w WHERE w.message = $1 AND w.id = $2 AND w.token = $3
      RETURNING w.admitted, w.attempts, w.awaits, w.ord`,
    head: `SELECT w.* FROM ${schema}.waiting w WHERE w.message = $1 ORDER BY w.ord, w.id LIMIT 1`,
  }
}

async function byStatements(schema: string, keepsPlans: boolean): Promise<Way> {
  // The same tables.
  const open = await postgresStore({ connectionString: URL, schema }).open({ onWork() {}, claims: false })
  await open.close()
  const client = new pg.Client({ connectionString: URL })
  await client.connect()
  const statements = statementsOn(schema)
  let trips = 0

  async function ask(name: keyof typeof statements, values: readonly unknown[]): Promise<{ readonly id?: string }> {
    trips += 1
    const config = { text: statements[name], values: [...values], ...(keepsPlans ? { name } : {}) }
    const { rows } = await client.query<{ id: string }>(config)
    return rows[0] ?? {}
  }

  async function inTransaction(work: () => Promise<void>): Promise<void> {
    trips += 2
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 3000')
    await work()
    await client.query('COMMIT')
  }

  return {
    name: keepsPlans ? 'statements with kept plans' : 'statements as text',
    pid: await pidOf(client),
    trips: () => trips,
    async handle(events) {
      const nowMs = Date.now()
      const [sorted, bytes] = [events.toSorted((a, b) => (a.messageKey < b.messageKey ? -1 : 1)), hexBytes]
      await inTransaction(async () => {
        for (const { id, messageKey, order, final, step, awaits, record, raw } of sorted) {
          const open = final ? '' : order
          const { id: message } = await ask('message', [bytes(messageKey), step, order, open, TOKEN])
          await ask('event', [message, bytes(id), order, final, nowMs, Buffer.from(JSON.stringify(record)), raw])
          await ask('waiting', [message, order, bytes(id), final, awaits, nowMs, TOKEN, nowMs + LEASE_MS])
        }
      })
      await inTransaction(async () => {
        for (const { id, messageKey } of sorted) {
          const { id: message } = await ask('known', [bytes(messageKey)])
          await ask('settled', [message, bytes(id), TOKEN])
          await ask('head', [message])
        }
      })
    },
    close: () => client.end(),
  }
}

const hexBytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const shown = ({ median, least, most }: Spread): string =>
  `${median.toFixed(2)}x (${least.toFixed(2)} to ${most.toFixed(2)})`

async function measure(way: Way, batch: number, nextEvent: () => NewEvent) {
  const [beforeMs = NaN, tripsBefore] = [processStat(way.pid)?.cpuMs, way.trips()]
  for (let handled = 0; handled < EVENTS; handled += batch)
    await way.handle(Array.from({ length: batch }, () => ({ ...nextEvent(), awaits: 0 })))
  return { cpuMs: (processStat(way.pid)?.cpuMs ?? NaN) - beforeMs, trips: (way.trips() - tripsBefore) / EVENTS }
}

const schemas = ['mw_bench_functions', 'mw_bench_text', 'mw_bench_kept'] as const
const admin = new pg.Client(URL)
await admin.connect()
for (const schema of schemas) await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
const ways = [
  await byFunctions(schemas[0]),
  await byStatements(schemas[1], false),
  await byStatements(schemas[2], true),
]
try {
  const nextEvent = freshEvents()
  for (const batch of BATCHES) {
    const cpuMs = ways.map((): number[] => [])
    const trips = ways.map(() => 0)
    // The first round makes the plans, and does not count.
    for (let round = -1; round < ROUNDS; round += 1)
      for (let turn = 0; turn < ways.length; turn += 1) {
        const index = (turn + round + 1) % ways.length
        const way = ways[index]
        if (way === undefined) continue
        const measured = await measure(way, batch, nextEvent)
        trips[index] = measured.trips
        if (round >= 0) cpuMs[index]?.push(measured.cpuMs)
      }
    console.log(`batches of ${batch}:`)
    for (const [index, { name }] of ways.entries())
      console.log(
        `  ${name}: ${trips[index]?.toFixed(2)} round trips an event, ` +
          `${shown(ratioOf(cpuMs[index] ?? [], cpuMs[0] ?? []))} the server's CPU time of functions`,
      )
  }
} finally {
  for (const way of ways) await way.close()
  for (const schema of schemas) await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await admin.end()
}
