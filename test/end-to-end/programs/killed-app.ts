/**
 * An app that is killed while it works: a receiver on an SQLite file that writes down what it does, each line in one write
 * to a file of its own, so that a kill cannot take a line back. Where its plan names a point, it kills itself there, by
 * what every app can put into a receiver: a credentials function, `dedupeKey`, a handler, a store around the store.
 */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { createReceiver, type Store } from '../../../src/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'
import { faultyStore } from '../../support/faulty-store.ts'
import { HANDLERS_LOG, type CrashPlan, type CrashPoint } from '../crash-plan.ts'

// What the test that starts it wrote.
const plan = JSON.parse(process.argv[2] ?? '') as CrashPlan
const { folder, authKey, signingSecret, crash, outage = 'none' } = plan
const OUTAGE_TURNS_MS = 150
const log = openSync(`${folder}/${HANDLERS_LOG}`, 'a')
let passes = 0

function write(...lines: readonly string[]): void {
  if (lines.length > 0) writeSync(log, lines.map((line) => `${line}\n`).join(''))
}

function pass(point: CrashPoint): void {
  if (point !== crash?.point || (passes += 1) < crash.passes) return
  write(`at ${point}`)
  process.kill(process.pid, 'SIGKILL')
}

/** Keeps this thread, which would answer, while the store's thread goes on for a moment. */
function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

async function admitted<T>(events: readonly { readonly id: string }[], admitting: T | Promise<T>): Promise<T> {
  if (events.length > 1 && crash?.point === 'in-batch' && passes + 1 >= crash.passes) holdUp(Math.random() * 3)
  if (events.length > 1) pass('in-batch')
  const result = await admitting
  write(...events.map(({ id }) => `committed ${id}`))
  pass('after-commit-before-answer')
  return result
}

function watched(inner: Store): Store {
  return {
    capabilities: inner.capabilities,
    async open(host) {
      const store = await inner.open(host)
      return {
        ...store,
        admit: (events, nowMs) => admitted(events, store.admit(events, nowMs)),
        async admitAndClaim(events, request) {
          if (store.admitAndClaim === undefined) throw new Error('SQLite has it.')
          const result = await admitted(events, store.admitAndClaim(events, request))
          if (result.claims.length > 0) pass('after-claim')
          return result
        },
        async claim(request) {
          const result = await store.claim(request)
          if (result.claims.length > 0) pass('after-claim')
          return result
        },
        async settle(settlements, nowMs) {
          pass('after-handler-before-settle')
          const held = await store.settle(settlements, nowMs)
          write(...settlements.filter((_, index) => held[index]).map(({ id, outcome }) => `settled ${id} ${outcome}`))
          pass('after-settle')
          return held
        },
      }
    },
  }
}

write('life')
const store = faultyStore(watched(sqliteStore(`${folder}/inbox.db`)))
if (outage === 'all the time' || outage === 'until then') store.fault = 'will not open'
if (outage === 'until then') setTimeout(() => void (store.fault = 'none'), OUTAGE_TURNS_MS)
if (outage === 'from then on') setTimeout(() => void (store.fault = 'throws'), OUTAGE_TURNS_MS)
const pair = { authKey, signingSecret }
const receiver = createReceiver({
  credentials() {
    pass('after-read')
    return pair
  },
  dedupeKey() {
    pass('after-verify')
    return undefined
  },
  store,
  // What a killed process had in its hands comes back at once, or where its death cannot be told, with its lease.
  handlerTimeoutMs: 1_000,
  logger: false,
})
receiver.on(['message.*', 'late'], async (event) => {
  const { id } = event
  const { messageId, status } = event.type === 'late' ? event.report : event
  const line = `${id} ${messageId} ${event.type === 'late' ? 'late' : status}`
  write(`begin ${line}`)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
  pass('in-handler')
  write(`end ${line}`)
})
const server = http.createServer(receiver.middleware('status'))
// A store that is away keeps nobody from listening.
await receiver.start().catch(() => {})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('message', () => {
  void receiver.drain({ deadlineMs: 60_000 }).then(async (drained) => {
    process.send?.({ drained, ...(await receiver.stats()) })
  })
})
process.on('disconnect', () => process.exit())
