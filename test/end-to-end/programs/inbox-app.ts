/** A receiver on an SQLite file whose handlers its parent holds and slows down. They write each event to a file, one line each. */
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import workerThreads from 'node:worker_threads'
import type { InboxAppSettings, Question } from '../inbox-app.ts'

/** The store's thread, which is not visible from outside: the test asks it how much memory it holds. */
const workers: workerThreads.Worker[] = []
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...args: ConstructorParameters<typeof workerThreads.Worker>) {
    super(...args)
    workers.push(this)
  }
}
syncBuiltinESMExports()
const { createReceiver } = await import('../../../src/index.ts')
const { sqliteStore } = await import('../../../src/stores/sqlite/store.ts')

const settings = JSON.parse(process.argv[2] ?? '') as InboxAppSettings
const { folder, authKey, synchronous = 'FULL', logs = true, concurrency } = settings
let { held = false, slowMs = 0 } = settings
let release = (): void => {}
const released = new Promise<void>((resolve) => (release = resolve))
const log = logs ? openSync(`${folder}/handlers.log`, 'a') : undefined

const before = process.cpuUsage()
const receiver = createReceiver({
  credentials: { authKey },
  store: sqliteStore({ path: `${folder}/inbox.db`, synchronous }),
  logger: false,
  concurrency,
})
receiver.on(['message.*', 'late'], async (event) => {
  const { messageId, status } = event.type === 'late' ? event.report : event
  if (log !== undefined) writeSync(log, `${messageId} ${status}\n`)
  if (held) await released
  if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs))
})
const server = http.createServer(receiver.middleware('status'))
await receiver.start()
const startCpuMs = cpuMs()
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ port, startCpuMs })
})

function cpuMs(): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Bytes held after a garbage collection. */
async function memory() {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  let threadHeap = 0
  for (const worker of workers) {
    // A snapshot collects the garbage of its thread first.
    for await (const _ of await worker.getHeapSnapshot()) continue
    threadHeap += (await worker.getHeapStatistics()).used_heap_size
  }
  return { heap: heapUsed, external, threadHeap, rss }
}

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'stats':
      return receiver.stats()
    case 'cpuMs':
      return cpuMs()
    case 'memory':
      return memory()
    case 'drain':
      return receiver.drain({ deadlineMs: question.deadlineMs })
    case 'behave':
      held = question.held ?? held
      slowMs = question.slowMs ?? slowMs
      if (!held) release()
      return true
  }
}

process.on('message', (question: Question) => {
  answer(question).then(
    (value) => process.send?.({ value }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  )
})
