/**
 * How long a backlog takes, and what it costs the server that processes share: EVENTS due events (20,000) of as many messages are
 * claimed and settled by one worker, four or sixteen. Prints the time and the CPU time of the server for an event.
 *
 *     EVENTS=100000 STORES=postgres,redis npm run bench:drain     # WORKERS (1,4,16)
 *
 * The workers are connections of this process: what it costs them itself is in the time, and not in the CPU time.
 */
import type { OpenStore } from 'messaging-webhooks/store'
import { STORES } from './contenders/stores.ts'
import { smsReport } from './database/events.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 20_000)
const WORKERS = (process.env['WORKERS'] ?? '1,4,16').split(',').map(Number)
const BATCH = 50
const LEASE_MS = 60_000

async function drain(open: OpenStore<object>): Promise<number> {
  let settled = 0
  for (;;) {
    const nowMs = Date.now()
    const { claims, nextDueMs } = await open.claim({
      limit: BATCH,
      nowMs,
      leaseUntilMs: nowMs + LEASE_MS,
      exclude: new Set(),
    })
    const done = claims.map(({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' as const }))
    const held = done.length === 0 ? [] : await open.settle(done, nowMs)
    settled += held.filter((each) => each === true).length
    // What is left is leased to others, who settle it.
    if (claims.length === 0 && (nextDueMs === undefined || nextDueMs > nowMs + 1_000)) return settled
  }
}

async function measure(name: 'postgres' | 'redis', workers: number): Promise<void> {
  const made = await STORES[name].make(`drain${process.pid}x${workers}`)
  const cpu = await STORES[name].cpu()
  const opened: OpenStore<object>[] = []
  for (let worker = 0; worker < workers; worker += 1) opened.push(await made.store.open({ onWork() {} }))
  const [first] = opened
  try {
    for (let at = 0; at < EVENTS; at += 500) {
      const events = Array.from({ length: 500 }, (_, index) => smsReport(`m${at + index}`, 1, Date.now(), true))
      await first?.admit(events, Date.now())
    }
    const [cpuBefore, beganMs] = [(await cpu?.readMs()) ?? NaN, performance.now()]
    const settled = await Promise.all(opened.map(drain))
    const tookMs = performance.now() - beganMs
    const cpuUs = (((await cpu?.readMs()) ?? NaN) - cpuBefore) / (EVENTS / 1_000)
    const sum = settled.reduce((all, each) => all + each, 0)
    console.log(`| ${name}, ${workers} | ${(tookMs / 1_000).toFixed(1)} | ${cpuUs.toFixed(0)} | ${sum} |`)
  } finally {
    await Promise.all(opened.map(async (open) => open.close()))
    await cpu?.close()
    await made.close({ remove: true })
  }
}

console.log(
  `| ${EVENTS} due events, workers | s | CPU of the server, µs an event | settled |\n| --- | --- | --- | --- |`,
)
for (const name of ['postgres', 'redis'] as const)
  if ((process.env['STORES'] ?? 'postgres,redis').split(',').includes(name))
    for (const workers of WORKERS) await measure(name, workers)
