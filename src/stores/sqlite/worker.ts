/** The thread that owns the connection. It may wait for the disk and for locks without delaying callbacks. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { openDatabase, UNTIMED, type Database } from './database.ts'
import { createEngine, type Engine } from './engine.ts'
import {
  createCalls,
  OPENED,
  sendError,
  isDurable,
  isLast,
  isTogether,
  type Calls,
  type Request,
  type Reply,
  type WorkerSettings,
} from './protocol.ts'
import { watchOthers } from './workers.ts'

const port = parentPort
if (port === null) throw new Error('This file runs in a worker thread.')
const send = (...reply: readonly Reply[]): void => port.postMessage(reply)

const settings = workerData as WorkerSettings
const report = (error: MessagingWebhooksError): void => send({ report: sendError(error) })
let worker = settings.worker
let unanswered: readonly Request[] = []
/** Without effect while no file is open. */
let answerAll = (): void => {}

function receive(requests: readonly Request[]): void {
  unanswered = [...unanswered, ...requests]
  answerAll()
}

try {
  for (;;) {
    const database = await openDatabase(settings.database)
    const engine = createEngine({ database, retention: settings.retention })
    if (worker !== undefined) engine.workers.enter(worker)
    send({ number: OPENED, value: database.latestNowMs })
    await serve(port, database, engine)
    database.abandon()
    report(new MessagingWebhooksError('store_replaced'))
  }
} catch (error) {
  // Ends the thread. The next call starts another one, which opens the file again.
  port.off('message', receive)
  send({ number: OPENED, error: sendError(error) })
}

/** Answers requests until the file is no longer at its path. The next file gets those of which the answer would be void. */
function serve(from: MessagePort, database: Database, engine: Engine): Promise<void> {
  const calls = createCalls(engine)
  const answer = createAnswering(database, {
    ...calls,
    enter(own) {
      worker = own
      calls.enter(own)
    },
  })
  return new Promise((resolve) => {
    function leave(): void {
      answerAll = () => {}
      resolve()
    }
    answerAll = () => {
      // After each call for people, calls that arrived meanwhile run first.
      for (;;) {
        unanswered = [...unanswered, ...waitingIn(from)]
        const first = unanswered.filter((request) => !isLast(request))
        const now = first.length > 0 ? first : unanswered.slice(0, 1)
        if (now.length === 0) return
        const replies = answer(now)
        // After the commit: what was written to a file that is gone must not be answered.
        if (database.db.isOpen && database.isReplaced()) {
          leave()
          return
        }
        unanswered = first.length > 0 ? unanswered.filter(isLast) : unanswered.slice(1)
        send(...replies)
      }
    }
    const onWork = (): void => send('work')
    void watchOthers({
      database,
      workers: engine.workers,
      folder: settings.workersFolder,
      onWork,
      onReplaced: leave,
    })
    // Last, because one of these requests may close the file.
    if (from.listenerCount('message') === 0) from.on('message', receive)
    answerAll()
  })
}

/** The requests that arrived while the last ones were handled. They share one transaction. */
function waitingIn(from: MessagePort): Request[] {
  const waiting: Request[] = []
  for (let next = receiveMessageOnPort(from); next !== undefined; next = receiveMessageOnPort(from))
    waiting.push(...(next.message as readonly Request[]))
  return waiting
}

function createAnswering({ transaction }: Database, calls: Calls) {
  function perform({ number, call, args }: Request): Reply {
    // The other thread builds each request from the parameters of the call.
    const made = calls[call] as (...args: readonly unknown[]) => unknown
    return { number, value: made(...args) }
  }

  function answer(request: Request): Reply {
    try {
      return perform(request)
    } catch (error) {
      return { number: request.number, error: sendError(error) }
    }
  }

  /** Commits all requests at once, durably if one of them must be. */
  function answerTogether(requests: readonly Request[]): readonly Reply[] {
    if (requests.length < 2) return requests.map(answer)
    const durable = requests.some(isDurable)
    try {
      return transaction(durable, UNTIMED, () => requests.map(perform))
    } catch (error) {
      // The file or disk failed: a retry would fail too, perhaps after another long wait for a lock.
      if (error instanceof MessagingWebhooksError)
        return requests.map(({ number }) => ({ number, error: sendError(error) }))
      // The data of a request failed: run the requests separately, so that the others succeed.
      return requests.map(answer)
    }
  }

  return (requests: readonly Request[]): readonly Reply[] => [
    ...answerTogether(requests.filter(isTogether)),
    ...requests.filter((request) => !isTogether(request)).map(answer),
  ]
}
