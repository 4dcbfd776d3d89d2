/**
 * How long events wait for their handler: the time from the answer 204 to the start of the handler, while 1, 3 and 8 processes on one
 * store accept EVENTS new events in all (20,000) at RATE a second (500), and none of them fails.
 *
 *     npm run bench:waiting
 *     EVENTS=100000 PROCESSES=3 STORES=postgres,mysql npm run bench:waiting    # REPORTS (1): of each message, 100 events apart
 *
 * Any process may run the handler. The clocks of the processes are those of one machine.
 */
import { createReceiver, type ReportEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { chosenStores, isSharedStore, SHARED_STORES, type SharedStore } from './contenders/shared.ts'
import { answerQuestions, ask } from './processes/asking.ts'
import { startPinned } from './processes/pinned.ts'
import { reportAt, REPORTS } from './processes/spaced.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 20_000)
const RATE = Number(process.env['RATE'] ?? 500)
const PROCESSES = (process.env['PROCESSES'] ?? '1,3,8').split(',').map(Number)
const AUTH_KEY = 'a key of the benchmark'
const TICK_MS = 5
const DRAIN_MS = 60_000

/** The times of one process, by the event: its message and timestamp. */
interface Times {
  readonly answered: readonly (readonly [event: string, ms: number])[]
  readonly handled: readonly (readonly [event: string, ms: number])[]
}

const nowMs = (): number => performance.timeOrigin + performance.now()

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function beChild(store: SharedStore, place: string, processes: number, index: number): Promise<void> {
  const made = await SHARED_STORES[store].make(place)
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    store: made.store,
    spool: false,
    logger: false,
  })
  const answered: [string, number][] = []
  const handled: [string, number][] = []
  const eventOf = (messageId: string, seconds: number): string => `${messageId} ${seconds}`
  function note({ messageId, occurredAt }: ReportEvent): void {
    handled.push([eventOf(messageId, Number(occurredAt) / 1_000), nowMs()])
  }
  receiver.on('message.delivered', note)
  receiver.on('late', ({ report }) => {
    note(report)
  })
  receiver.onError((error) => console.error(error.code, error.message))
  await receiver.start()

  async function accept(message: number, timestamp: number): Promise<void> {
    const messageId = `m${message}`
    const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId, timestamp })))
    const { status } = await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
    if (status !== 204) throw new Error(`An event was answered ${status}.`)
    answered.push([eventOf(messageId, timestamp), nowMs()])
  }

  /** Accepts its share of the events. Reports of a message arrive at different processes. */
  async function run(beganSeconds: number): Promise<object> {
    const beganMs = performance.now()
    const accepting: Promise<void>[] = []
    let at = 0
    while (at < EVENTS) {
      const due = Math.min(EVENTS, ((performance.now() - beganMs) * RATE) / 1_000)
      for (; at < due; at += 1) {
        const [report, message] = reportAt(at)
        if ((message + report) % processes === index) accepting.push(accept(message, beganSeconds + report))
      }
      await pause(TICK_MS)
    }
    await Promise.all(accepting)
    if (!(await receiver.drain({ deadlineMs: DRAIN_MS }))) throw new Error('Events still wait after a minute.')
    return {}
  }

  answerQuestions(async (question) => {
    const { beganSeconds, times } = question as { beganSeconds?: number; times?: true }
    if (beganSeconds !== undefined) return run(beganSeconds)
    if (times === true) return { answered, handled }
    await receiver.close()
    await made.close({ remove: false })
    return {}
  })
}

async function measure(store: SharedStore, processes: number): Promise<void> {
  const place = `waiting${process.pid}x${processes}`
  const made = await SHARED_STORES[store].make(place)
  const children = Array.from({ length: processes }, (_, index) =>
    startPinned(new URL(import.meta.url), ['child', store, place, String(processes), String(index)], 'any'),
  )
  try {
    const beganSeconds = Math.floor(Date.now() / 1_000) - REPORTS
    await Promise.all(children.map((child) => ask(child, { beganSeconds })))
    // A process may have handled events of another after its own had ended.
    const times = await Promise.all(children.map((child) => ask<Times>(child, { times: true })))
    const handled = new Map<string, number>()
    for (const [event, ms] of times.flatMap((one) => one.handled))
      handled.set(event, Math.min(ms, handled.get(event) ?? Infinity))
    const waits = times
      .flatMap((one) => one.answered)
      .map(([event, ms]) => Math.max(0, (handled.get(event) ?? NaN) - ms))
      .sort((a, b) => a - b)
    if (waits.some(Number.isNaN)) throw new Error('An event was not handled.')
    const runs = times.reduce((sum, one) => sum + one.handled.length, 0)
    const cells = [0.5, 0.99, 0.999, 1].map((part) => (waits[Math.ceil(part * waits.length) - 1] ?? NaN).toFixed(0))
    const late = waits.filter((ms) => ms > 1_000).length
    console.log(`| ${[`${store}, ${processes}`, ...cells, late, runs - waits.length].join(' | ')} |`)
  } finally {
    await Promise.all(children.map((child) => ask(child, {})))
    for (const child of children) child.disconnect()
    await made.close({ remove: true })
  }
}

const [, , role, store, place = '', processes, index] = process.argv
if (role === 'child' && isSharedStore(store)) await beChild(store, place, Number(processes), Number(index))
else {
  console.log(`${EVENTS} events at ${RATE} a second, ${REPORTS} of a message: ms from the answer to the handler\n`)
  console.log(
    '| store, processes | p50 | p99 | p99.9 | most | events over 1 s | runs more |\n|---|---|---|---|---|---|---|',
  )
  for (const shared of chosenStores()) for (const processes of PROCESSES) await measure(shared, processes)
}
