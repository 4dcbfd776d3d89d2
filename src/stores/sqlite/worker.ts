/** The thread that owns the connection: it may wait for the disk and for locks, and nobody's request waits with it. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { createAnswering, failure } from './answering.ts'
import { openDatabase } from './database.ts'
import { createEngine } from './engine.ts'
import { createHolders } from './holders.ts'
import { OPENED, REPORT, type OurError, type Reply, type Request, WORK_CAME, type WorkerSettings } from './protocol.ts'
import { watchDeaths, watchWrites } from './watch.ts'

const port = parentPort
if (port === null) throw new Error('This file runs in a worker thread.')

// The first message of each side is the opening; what the main thread sends later waits in the port until then.
const settings = workerData as WorkerSettings
try {
  const database = await openDatabase(settings.database)
  const holders = createHolders(database)
  const store = createEngine({
    database,
    retention: settings.retention,
    holders,
    report({ code, detail }) {
      const value: OurError = { code, detail }
      post(port, [{ number: REPORT, ok: true, value }])
    },
  })
  const answerAll = createAnswering(database, store)
  post(port, [{ number: OPENED, ok: true, value: store.latestNowMs }])
  const watched = {
    clock: systemClock(),
    db: database.db,
    holders,
    holdersFolder: settings.holdersFolder,
    onWork: () => post(port, [{ number: WORK_CAME, ok: true, value: undefined }]),
  }
  watchWrites(watched)
  void watchDeaths(watched)
  port.on('message', (requests: readonly Request[]) => {
    post(port, answerAll([...requests, ...waitingIn(port)]))
  })
} catch (error) {
  post(port, [failure(OPENED, error)])
}

function post(to: MessagePort, replies: readonly Reply[]): void {
  to.postMessage(replies)
}

/** What came while the last message was answered: all of it fits into one transaction. */
function waitingIn(from: MessagePort): readonly Request[] {
  const waiting: Request[] = []
  for (let next = receiveMessageOnPort(from); next !== undefined; next = receiveMessageOnPort(from))
    waiting.push(...(next.message as readonly Request[]))
  return waiting
}
