/**
 * An Express app whose store is taken away while it works: a receiver on an SQLite file with a spool, whose handlers write
 * down what they are given, each line in one write, so that no kill takes a line back.
 */
import { openSync, writeSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Worker } from 'node:worker_threads'
import express from 'express'
import { createReceiver } from '../../../../src/index.ts'
import { sqliteStore } from '../../../../src/stores/sqlite/store.ts'
import { faultyStore } from '../../../support/faulty-store.ts'
import type { AppAnswer, AppOptions, AppRequest } from '../app.ts'

const options = JSON.parse(process.argv[2] ?? '') as AppOptions
const log = openSync(options.log, 'a')
const codes: string[] = []
const workers: Worker[] = []
process.on('worker', (worker) => workers.push(worker))

const sqlite = sqliteStore({ path: options.database, busyTimeoutMs: options.busyTimeoutMs ?? 5_000 })
const faulty = faultyStore(sqlite)
const receiver = createReceiver({
  credentials: { authKey: options.authKey, signingSecret: options.secret },
  store: options.faulty === true ? faulty : sqlite,
  ...(options.spool === undefined ? {} : { spool: options.spool }),
  storeTimeoutMs: options.storeTimeoutMs,
  retry: { attempts: 3, initialDelayMs: 50 },
  logger: false,
})
receiver.onError(({ code }) => void codes.push(code))
receiver.onAny((event, { attempt }) => {
  const report = event.type === 'late' ? event.report : event
  const name = 'status' in report && 'messageId' in report ? `${report.messageId} ${report.status}` : report.type
  const problem = event.type === 'unrecognized' ? event.problem : ''
  writeSync(log, `${JSON.stringify({ id: event.id, name, attempt, late: event.type === 'late', problem })}\n`)
})

const app = express()
app.use('/callbacks', receiver.middleware('status'))
try {
  await receiver.start()
} catch (error) {
  codes.push(error instanceof Error && 'code' in error ? `start: ${String(error.code)}` : String(error))
}
const loopDelay = monitorEventLoopDelay({ resolution: 10 })
loopDelay.enable()
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  answer({ port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
})

function answer(answered: AppAnswer): void {
  process.send?.(answered)
}

async function obey(request: AppRequest): Promise<AppAnswer> {
  switch (request) {
    case 'report':
      return { codes, longestLoopDelayMs: loopDelay.max / 1e6 }
    case 'drain':
      return { drained: await receiver.drain({ deadlineMs: 60_000 }), ...(await receiver.stats()) }
    case 'end the worker':
      await Promise.all(workers.map((worker) => worker.terminate()))
      return {}
    case 'throws':
    case 'hangs':
    case 'is late':
    case 'none':
      faulty.fault = request
      return {}
    case 'close':
      server.close()
      server.closeAllConnections()
      await receiver.close({ deadlineMs: 2_000 })
      return {}
  }
}

process.on('message', (request: AppRequest) => void obey(request).then(answer))
