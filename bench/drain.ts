/**
 * Time to drain a backlog and its cost for the shared server: one, four or sixteen processes claim and settle EVENTS due events
 * (20,000), each of its own message. Prints the time, and the CPU time of the server per event.
 *
 *     EVENTS=100000 STORES=postgres,redis npm run bench:drain     # PROCESSES (1,4,16)
 */
import type { MessageStore } from 'messaging-webhooks/store'
import { admit, claim, settleAll } from '../src/store-conformance/samples.ts'
import { STORES } from './contenders/stores.ts'
import { openAlone } from './database/calls.ts'
import { smsReport } from './database/events.ts'
import { answerQuestions, ask } from './processes/asking.ts'
import { startPinned } from './processes/pinned.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 20_000)
const PROCESSES = (process.env['PROCESSES'] ?? '1,4,16').split(',').map(Number)
const BATCH = 50

type Shared = 'postgres' | 'redis'

async function drain(open: MessageStore<object>): Promise<number> {
  let settled = 0
  for (;;) {
    const { claims, nextInMs = Infinity } = await claim(open, { limit: BATCH })
    if (claims.length > 0) settled += (await settleAll(open, claims)).filter((held) => held).length
    // Other processes hold the leases of the rest and settle it.
    else if (nextInMs > 1_000) return settled
  }
}

/** One child process: it opens when first asked, then drains, then closes. */
async function beChild(store: Shared, place: string): Promise<void> {
  const made = await STORES[store].make(place)
  const open = await openAlone(made.store)
  answerQuestions(async (question) => {
    const { step } = question as { readonly step?: string }
    if (step === 'open') return {}
    if (step === 'drain') return { settled: await drain(open) }
    await open.close()
    await made.close({ remove: false })
    return {}
  })
}

async function measure(store: Shared, processes: number): Promise<void> {
  const place = `drain${process.pid}x${processes}`
  const made = await STORES[store].make(place)
  const cpu = await STORES[store].cpu()
  const open = await openAlone(made.store, { claims: false })
  const program = new URL(import.meta.url)
  const children = Array.from({ length: processes }, () => startPinned(program, ['child', store, place], 'any'))
  try {
    for (let at = 0; at < EVENTS; at += 500) {
      const events = Array.from({ length: 500 }, (_, index) => smsReport(`m${at + index}`, 1, Date.now(), true))
      await admit(open, events)
    }
    await Promise.all(children.map((child) => ask(child, { step: 'open' })))
    const [cpuBefore, beganMs] = [(await cpu?.readMs()) ?? NaN, performance.now()]
    const answers = await Promise.all(children.map((child) => ask(child, { step: 'drain' })))
    const tookMs = performance.now() - beganMs
    const cpuUs = (((await cpu?.readMs()) ?? NaN) - cpuBefore) / (EVENTS / 1_000)
    const settled = answers.reduce((sum, answer) => sum + ('settled' in answer ? Number(answer.settled) : 0), 0)
    console.log(`| ${store}, ${processes} | ${(tookMs / 1_000).toFixed(1)} | ${cpuUs.toFixed(0)} | ${settled} |`)
  } finally {
    await Promise.all(children.map((child) => ask(child, { step: 'close' })))
    for (const child of children) child.disconnect()
    await open.close()
    await cpu?.close()
    await made.close({ remove: true })
  }
}

const [, , role, shared, place = ''] = process.argv
if (role === 'child' && (shared === 'postgres' || shared === 'redis')) await beChild(shared, place)
else {
  console.log(
    `| ${EVENTS} due events, processes | s | CPU of the server, µs an event | settled |\n| --- | --- | --- | --- |`,
  )
  for (const name of ['postgres', 'redis'] as const)
    if ((process.env['STORES'] ?? 'postgres,redis').split(',').includes(name))
      for (const processes of PROCESSES) await measure(name, processes)
}
