/**
 * Cost of one event for a shared store: CPU time of the server and of the receivers, bytes on the network, round trips, log
 * bytes and syncs, with one, four or sixteen processes that together accept and dispatch the same number of events a second. More
 * processes make smaller batches, which limits how many machines one server can carry. Each event is new, enters through
 * `receiver.receive`, and counts once its handler has returned.
 *
 *     npm run bench:server                       # EVENTS (20,000) at RATE (1,000) a second, PROCESSES (1,4,16)
 *     REPORTS=3 npm run bench:server             # three reports a message, 100 events apart
 *     STORES=postgres,mysql POSTGRES_URL=… MYSQL_URL=… npm run bench:server   # servers that run already
 *     COSTS=bench/capacity/costs.json npm run bench:server                    # for `bench:capacity`
 *
 * Do not use the servers for anything else meanwhile. SQLite has at most four processes on its file and no server: its thread is
 * part of the receivers. The receivers' CPU time includes building the callbacks and leaves out HTTP. `a core` is the rate that the
 * server's CPU time of an event (with SQLite the receivers') allows at 70 % of one core; `an 8-core server` the rate of eight, and
 * of the one core that Redis uses.
 */
import { createReceiver } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { recordCosts, type EventCost } from './capacity/costs.ts'
import { chosenStores, isSharedStore, SHARED_STORES, type SharedStore } from './contenders/shared.ts'
import type { StoreEntry } from './contenders/stores.ts'
import { readCounters } from './database/counters.ts'
import { answerQuestions, ask } from './processes/asking.ts'
import { startPinned } from './processes/pinned.ts'
import { reportAt, REPORTS } from './processes/spaced.ts'
import { countTraffic } from './processes/traffic.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 20_000)
const RATE = Number(process.env['RATE'] ?? 1_000)
const PROCESSES = (process.env['PROCESSES'] ?? '1,4,16').split(',').map(Number)
const AUTH_KEY = 'a key of the benchmark'
const TICK_MS = 5
/** The servers update their statistics up to a second late. */
const COUNTED_MS = 2_000
const DRAIN_MS = 60_000
const BUSY = 0.7

/** More processes than share one file in practice. */
const MAX_ON_SQLITE = 4
const CORES: Readonly<Partial<Record<SharedStore, number>>> = { postgres: 8, mysql: 8, redis: 1 }

/** Of one child, since it started. */
interface ChildCounters {
  readonly cpuUs: number
  readonly networkBytes: number
}

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : Math.round(value))

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** One child process. A question holds the number of events and the rate, or asks for its counters. */
async function beChild(store: SharedStore, place: string, name: string): Promise<void> {
  const trafficBytes = countTraffic()
  const made = await SHARED_STORES[store].make(place)
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
        const [report, message] = reportAt(answers.length)
        const messageId = `${name} ${beganMs} ${message}`
        const timestamp = beganSeconds + report
        const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId, timestamp })))
        answers.push(receiver.receive({ kind: 'status', method: 'POST', headers: {}, body }))
      }
      // Waking up for nothing would count as the receiver's work.
      await pause(Math.max(TICK_MS, 1_000 / rate))
    }
    const refused = (await Promise.all(answers)).filter(({ status }) => status !== 204)
    if (refused.length > 0) throw new Error(`${refused.length} events were refused.`)
    // Another process may dispatch what this one accepted.
    if (!(await receiver.drain({ deadlineMs: DRAIN_MS })))
      throw new Error('The events were not dispatched before the deadline.')
    return { tookMs: performance.now() - beganMs }
  }

  function readOwn(): ChildCounters {
    const { user, system } = process.cpuUsage()
    return { cpuUs: user + system, networkBytes: trafficBytes() }
  }

  answerQuestions(async (question) => {
    const { events, rate, counters } = question as { events?: number; rate?: number; counters?: true }
    if (events !== undefined && rate !== undefined) return run(events, rate)
    if (counters === true) return readOwn()
    await receiver.close()
    await made.close({ remove: false })
    return {}
  })
}

async function measure(store: SharedStore, processes: number): Promise<void> {
  const place = `cost${process.pid}x${processes}`
  const entry: StoreEntry = SHARED_STORES[store]
  const made = await entry.make(place)
  const program = new URL(import.meta.url)
  const children = Array.from({ length: processes }, (_, index) =>
    startPinned(program, ['child', store, place, String(index)], 'any'),
  )
  const cpu = await entry.cpu?.()
  try {
    const askAll = (events: number, rate: number): Promise<readonly object[]> =>
      Promise.all(
        children.map((child) => ask(child, { events: Math.ceil(events / processes), rate: rate / processes })),
      )
    const readReceivers = (): Promise<readonly ChildCounters[]> =>
      Promise.all(children.map((child) => ask<ChildCounters & object>(child, { counters: true })))
    const readServer = async () => ({ cpuMs: await cpu?.readMs(), ...(await readCounters(store)) })
    // Warm up: compile, plan and connect before measuring.
    await askAll(Math.max(EVENTS / 10, processes * 20), RATE)
    await pause(COUNTED_MS)
    const [receiversBefore, before] = [await readReceivers(), await readServer()]
    await askAll(EVENTS, RATE)
    const receiversAfter = await readReceivers()
    await pause(COUNTED_MS)
    const after = await readServer()
    const events = Math.ceil(EVENTS / processes) * processes
    const each = (from = NaN, to = NaN): number => (to - from) / events
    const ofReceivers = (name: keyof ChildCounters): number => {
      const total = (of: readonly ChildCounters[]): number => of.reduce((sum, child) => sum + child[name], 0)
      return each(total(receiversBefore), total(receiversAfter))
    }
    const [storeUs, receiversUs] = [each(before.cpuMs, after.cpuMs) * 1_000, ofReceivers('cpuUs')]
    const networkBytes = cpu === undefined ? NaN : ofReceivers('networkBytes')
    const logBytes = each(before.logBytes, after.logBytes)
    const aCore = (BUSY * 1e6) / (store === 'sqlite' ? receiversUs : storeUs)
    const cells = [
      storeUs.toFixed(0),
      receiversUs.toFixed(0),
      networkBytes.toFixed(0),
      each(before.roundTrips, after.roundTrips).toFixed(2),
      logBytes.toFixed(0),
      each(before.syncs, after.syncs).toFixed(2),
      Math.round(aCore).toLocaleString('en'),
      Math.round(aCore * (CORES[store] ?? NaN)).toLocaleString('en'),
    ]
    console.log(`| ${[`${store}, ${processes}`, ...cells.map((cell) => (cell === 'NaN' ? '' : cell))].join(' | ')} |`)
    const cost: EventCost = {
      storeUs: known(storeUs),
      receiversUs: Math.round(receiversUs),
      networkBytes: known(networkBytes),
      logBytes: known(logBytes),
    }
    if (REPORTS === 1)
      recordCosts((costs) => ({
        ...costs,
        events: { ...costs.events, [store]: { ...costs.events[store], [processes]: cost } },
      }))
  } finally {
    await Promise.all(children.map((child) => ask(child, {})))
    for (const child of children) child.disconnect()
    await cpu?.close()
    await made.close({ remove: true })
  }
}

const HEAD = [
  'store, processes',
  'CPU of the server, µs',
  'CPU of the receivers, µs',
  'network bytes',
  'round trips',
  'log bytes',
  'syncs',
  'a core, events/s',
  'an 8-core server, events/s',
]

const [, , role, store, place = '', name = ''] = process.argv
if (role === 'child' && isSharedStore(store)) await beChild(store, place, name)
else {
  console.log(`${EVENTS} events at ${RATE} a second, ${REPORTS} of a message\n`)
  console.log(`| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}`)
  for (const shared of chosenStores())
    for (const processes of PROCESSES)
      if (shared !== 'sqlite' || processes <= MAX_ON_SQLITE) await measure(shared, processes)
}
