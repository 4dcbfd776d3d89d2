/**
 * Cost of the inspector, and its effect on callbacks. First, the CPU time of an event through a receiver with the memory store,
 * which does little else: without an inspector, with one, and with ten open pages, as ratios within each round. Then, with
 * EVENTS (1,000,000) settled in an SQLite file: how long its pages take, and the slowest callback meanwhile.
 *
 *     EVENTS=1000000 ROUNDS=9 node bench/inspector.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { inspector, type Inspector } from 'messaging-webhooks/inspector'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { admit } from '../src/store-conformance/samples.ts'
import { openAlone, settleDue } from './database/calls.ts'
import { smsReport } from './database/events.ts'
import { ratioOf } from './measure/ratios.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 1_000_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 9)
const A_ROUND = 10_000
const AT_ONCE = 50
const PAGES = 10
const PAGE_ASKS_EVERY_MS = 2_000
const BATCH = 2_000
const ORIGIN = 'http://app.example'
const credentials = { authKey: 'the-key-of-the-benchmark', signingSecret: 'the-secret-of-the-benchmark' }

let sent = 0

/** The slowest answer, in milliseconds. */
async function take(receiver: Receiver, count: number): Promise<number> {
  let slowestMs = 0
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, async () => {
        sent += 1
        const body = Buffer.from(JSON.stringify(callback.smsDelivery({ messageId: `sent-${sent}` })))
        const headers = { 'x-service-signature': signCallback(body, credentials.signingSecret) }
        const startedMs = performance.now()
        const { status } = await receiver.receive({ kind: 'status', method: 'POST', headers, body })
        if (status !== 204) throw new Error(`A callback was answered ${status}.`)
        slowestMs = Math.max(slowestMs, performance.now() - startedMs)
      }),
    )
  await receiver.drain()
  return slowestMs
}

/** CPU time per event in microseconds. */
async function costOf(receiver: Receiver): Promise<number> {
  const before = process.cpuUsage()
  await take(receiver, A_ROUND)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / A_ROUND
}

function receiving(): Receiver {
  const receiver = createReceiver({ credentials, logger: false })
  receiver.onAny(() => {})
  return receiver
}

function inspecting(receiver: Receiver): Inspector {
  return inspector(receiver, { authorize: () => ['write', 'reveal'] })
}

/** Polls as an open page does, until `isOver`. */
async function openPage(look: Inspector, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await look.fetch(new Request(`${ORIGIN}/api/session`))
    await setTimeout(PAGE_ASKS_EVERY_MS)
  }
}

async function measureCost(): Promise<void> {
  const bare = receiving()
  const mounted = receiving()
  inspecting(mounted)
  const watched = receiving()
  const look = inspecting(watched)
  let isOver = false
  const pages = Array.from({ length: PAGES }, () => openPage(look, () => isOver))
  const costs: readonly (readonly [receiver: Receiver, micros: number[]])[] = [bare, mounted, watched].map(
    (receiver) => [receiver, []],
  )
  // The first round is a warm-up.
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [receiver, micros] of round % 2 === 0 ? costs : costs.toReversed()) {
      const cost = await costOf(receiver)
      if (round > 0) micros.push(cost)
    }
  const [ofBare = [], ofMounted = [], ofWatched = []] = costs.map(([, micros]) => micros)
  print('mounted over not mounted, processor time an event', ratioOf(ofMounted, ofBare))
  print('ten open pages over mounted, processor time an event', ratioOf(ofWatched, ofMounted))
  isOver = true
  await Promise.all(pages)
  for (const [receiver] of costs) await receiver.close()
}

function print(what: string, { median, least, most }: ReturnType<typeof ratioOf>): void {
  console.log(`${what}: ${median.toFixed(3)} (${least.toFixed(3)}-${most.toFixed(3)})`)
}

/** Admitted directly to the store, which is not measured here: an event every millisecond until now. */
async function fill(path: string): Promise<void> {
  let atMs = Date.now() - EVENTS
  const store = await openAlone(sqliteStore({ path, synchronous: 'OFF' }), { nowMs: () => atMs })
  for (let from = 0; from < EVENTS; from += BATCH) {
    const length = Math.min(BATCH, EVENTS - from)
    const events = Array.from({ length }, (_, index) => smsReport(`kept-${from + index}`, 0, Date.now(), true))
    await admit(store, events)
    await settleDue(store, length)
    atMs += length
  }
  await store.close()
}

/** `messageId`: a message that the receiver has accepted. */
const questions = (messageId: string): Readonly<Record<string, string>> => ({
  'first page of events': 'api/events',
  overview: 'api/overview',
  'a filter that finds nothing': 'api/events?channel=none',
  'a filter by time and type': `api/events?type=message.failed&to=${new Date(Date.now() - EVENTS / 2).toISOString()}`,
  'search by message id': `api/events?q=${messageId}`,
  'a message’s timeline': `api/messages/${messageId}`,
})

async function measurePages(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-inspector-'))
  const path = join(folder, 'inbox.db')
  try {
    await fill(path)
    const receiver = createReceiver({ credentials, store: sqliteStore(path), logger: false })
    receiver.onAny(() => {})
    const look = inspecting(receiver)
    await receiver.start()
    await take(receiver, A_ROUND / 10)
    console.log(`slowest callback with no page open: ${(await take(receiver, A_ROUND / 10)).toFixed(0)} ms`)
    for (const [what, question] of Object.entries(questions(`sent-${sent}`))) {
      const asking = { isOver: false }
      const slowest = (async () => {
        let slowestMs = 0
        while (!asking.isOver) slowestMs = Math.max(slowestMs, await take(receiver, AT_ONCE))
        return slowestMs
      })()
      const tookMs: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const startedMs = performance.now()
        const { status } = await look.fetch(new Request(`${ORIGIN}/${question}`))
        if (status !== 200) throw new Error(`${what} was answered ${status}.`)
        tookMs.push(performance.now() - startedMs)
      }
      asking.isOver = true
      const median = tookMs.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN
      console.log(`${what}: ${median.toFixed(0)} ms; slowest callback meanwhile: ${(await slowest).toFixed(0)} ms`)
    }
    await receiver.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await measureCost()
await measurePages()
