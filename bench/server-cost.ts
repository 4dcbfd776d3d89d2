/**
 * Cost of one event for a shared database server: CPU time, round trips, log bytes and syncs, with one, four
 * or sixteen processes that together accept and dispatch the same number of events a second. More processes make smaller batches,
 * which limits how many machines one server can carry. Each event is new, enters through `receiver.receive`, and counts once
 * its handler has returned.
 *
 *     npm run bench:server                       # EVENTS (20,000) at RATE (1,000) a second, PROCESSES (1,4,16)
 *     REPORTS=3 npm run bench:server             # three reports a message, 100 events apart
 *
 * Do not use the servers for anything else meanwhile. `an 8-core server` is the rate that the CPU time of an event allows at 70 % of
 * eight cores for Postgres, and of the one core that Redis uses.
 */
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { POSTGRES_URL, REDIS_URL, STORES } from './contenders/stores.ts'
import { answerQuestions, ask } from './processes/asking.ts'
import { startPinned } from './processes/pinned.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 20_000)
const RATE = Number(process.env['RATE'] ?? 1_000)
const PROCESSES = (process.env['PROCESSES'] ?? '1,4,16').split(',').map(Number)
const REPORTS = Number(process.env['REPORTS'] ?? 1)
const SPACING = 100
const AUTH_KEY = 'a key of the benchmark'
const TICK_MS = 5
/** The servers update their statistics up to a second late. */
const COUNTED_MS = 2_000
const DRAIN_MS = 60_000
const BUSY = 0.7

type Shared = 'postgres' | 'redis'

interface Counters {
  readonly roundTrips: number
  readonly logBytes: number | undefined
  readonly syncs: number | undefined
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The report and the message at this position of the sequence. */
function placeOf(at: number): readonly [report: number, message: number] {
  const round = SPACING * REPORTS
  return [Math.floor((at % round) / SPACING), Math.floor(at / round) * SPACING + (at % SPACING)]
}

/** One child process. Each question holds the number of events and the rate. */
async function beChild(store: Shared, place: string, name: string): Promise<void> {
  const made = await STORES[store].make(place)
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    store: made.store,
    spool: false,
    logger: false,
  })
  receiver.on('message.delivered', () => {})
  await receiver.start()

  async function run(events: number, rate: number): Promise<object> {
    const beganMs = performance.now()
    const beganSeconds = Math.floor(Date.now() / 1_000)
    const answers: Promise<{ readonly status: number }>[] = []
    while (answers.length < events) {
      const due = Math.min(events, Math.ceil(((performance.now() - beganMs) * rate) / 1_000))
      while (answers.length < due) {
        const [report, message] = placeOf(answers.length)
        const messageId = `${name} ${beganMs} ${message}`
        const timestamp = beganSeconds + report
        const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId, timestamp })))
        answers.push(receiver.receive({ kind: 'status', method: 'POST', headers: {}, body }))
      }
      await pause(TICK_MS)
    }
    const refused = (await Promise.all(answers)).filter(({ status }) => status !== 204)
    if (refused.length > 0) throw new Error(`${refused.length} events were refused.`)
    // Another process may dispatch what this one accepted.
    if (!(await receiver.drain({ deadlineMs: DRAIN_MS })))
      throw new Error('The events were not dispatched before the deadline.')
    return { tookMs: performance.now() - beganMs }
  }

  answerQuestions(async (question) => {
    const { events, rate } = question as { readonly events?: number; readonly rate?: number }
    if (events !== undefined && rate !== undefined) return run(events, rate)
    await receiver.close()
    await made.close({ remove: false })
    return {}
  })
}

async function countersOf(store: Shared): Promise<Counters> {
  if (store === 'redis') {
    const { createClient } = await import('redis')
    const client = createClient({ url: REDIS_URL })
    await client.connect()
    const [commands, persistence] = [await client.info('commandstats'), await client.info('persistence')]
    client.destroy()
    const aof = /^aof_current_size:(\d+)/m.exec(persistence)?.[1]
    const calls = [...commands.matchAll(/^cmdstat_(?:evalsha|publish):calls=(\d+)/gm)].map(([, count]) => Number(count))
    const roundTrips = calls.reduce((sum, count) => sum + count, 0)
    return { roundTrips, logBytes: aof === undefined ? undefined : Number(aof), syncs: undefined }
  }
  const { Client } = await import('pg')
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  const { rows } = await client.query<Record<'trips' | 'log' | 'syncs', string | null>>(`
    SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS trips,
      pg_current_wal_lsn() - '0/0'::pg_lsn AS log, (SELECT wal_sync FROM pg_stat_wal) AS syncs`)
  await client.end()
  const [row] = rows
  return { roundTrips: Number(row?.trips), logBytes: Number(row?.log), syncs: Number(row?.syncs ?? NaN) }
}

async function measure(store: Shared, processes: number): Promise<void> {
  const place = `cost${process.pid}x${processes}`
  const made = await STORES[store].make(place)
  const program = new URL(import.meta.url)
  const children = Array.from({ length: processes }, (_, index) =>
    startPinned(program, ['child', store, place, String(index)], 'any'),
  )
  const cpu = await STORES[store].cpu()
  try {
    const askAll = (events: number, rate: number): Promise<readonly object[]> =>
      Promise.all(
        children.map((child) => ask(child, { events: Math.ceil(events / processes), rate: rate / processes })),
      )
    // Warm up: compile, plan and connect before measuring.
    await askAll(Math.max(EVENTS / 10, processes * 20), RATE)
    await pause(COUNTED_MS)
    const [cpuBefore, before] = [(await cpu?.readMs()) ?? NaN, await countersOf(store)]
    await askAll(EVENTS, RATE)
    await pause(COUNTED_MS)
    const [cpuAfter, after] = [(await cpu?.readMs()) ?? NaN, await countersOf(store)]
    const events = Math.ceil(EVENTS / processes) * processes
    const each = (from: number | undefined, to: number | undefined): number => ((to ?? NaN) - (from ?? NaN)) / events
    const cpuUs = each(cpuBefore, cpuAfter) * 1_000
    const cores = store === 'postgres' ? 8 : 1
    const cells = [
      `${store}, ${processes}`,
      cpuUs.toFixed(0),
      each(before.roundTrips, after.roundTrips).toFixed(2),
      each(before.logBytes, after.logBytes).toFixed(0),
      each(before.syncs, after.syncs).toFixed(2),
      Math.round((BUSY * cores * 1e6) / cpuUs).toLocaleString('en'),
    ]
    console.log(`| ${cells.map((cell) => (cell === 'NaN' ? '' : cell)).join(' | ')} |`)
  } finally {
    await Promise.all(children.map((child) => ask(child, {})))
    for (const child of children) child.disconnect()
    await cpu?.close()
    await made.close({ remove: true })
  }
}

const [, , role, store, place = '', name = ''] = process.argv
if (role === 'child' && (store === 'postgres' || store === 'redis')) await beChild(store, place, name)
else {
  console.log(`${EVENTS} events at ${RATE} a second, ${REPORTS} of a message\n`)
  console.log(
    '| store, processes | CPU of the server, µs | round trips | log bytes | syncs | an 8-core server, events/s |',
  )
  console.log('| --- | --- | --- | --- | --- | --- |')
  for (const shared of ['postgres', 'redis'] as const)
    if ((process.env['STORES'] ?? 'postgres,redis').split(',').includes(shared))
      for (const processes of PROCESSES) await measure(shared, processes)
}
