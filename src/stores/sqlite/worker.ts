/** The thread that owns the connection. It may wait for the disk and for locks without delaying callbacks. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { openDatabase, UNTIMED, type Database } from './database.ts'
import { createEngine } from './engine.ts'
import {
  createCalls,
  OPENED,
  sendError,
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

// Open the file before the first request. Requests that arrive meanwhile wait in the port.
const settings = workerData as WorkerSettings
try {
  const database = await openDatabase(settings.database)
  const report = (error: MessagingWebhooksError): void => send({ report: sendError(error) })
  const { retention } = settings
  const engine = createEngine({ database, retention, report })
  if (settings.worker !== undefined) engine.workers.enter(settings.worker)
  send({ number: OPENED, value: database.latestNowMs })
  void watchOthers({
    database,
    workers: engine.workers,
    folder: settings.workersFolder,
    onWork: () => send('work'),
    onReplaced: () => report(new MessagingWebhooksError('store_replaced')),
  })
  serve(port, createAnswering(database, createCalls(engine)))
} catch (error) {
  send({ number: OPENED, error: sendError(error) })
}

function serve(from: MessagePort, answer: (requests: readonly Request[]) => readonly Reply[]): void {
  const last: Request[] = []
  from.on('message', (requests: readonly Request[]) => {
    // After each call for people, calls that arrived meanwhile run first.
    for (let came = [...requests, ...waitingIn(from)]; came.length + last.length > 0; came = waitingIn(from)) {
      last.push(...came.filter(isLast))
      const first = came.filter((request) => !isLast(request))
      send(...answer(first.length > 0 ? first : last.splice(0, 1)))
    }
  })
}

/** The requests that arrived while the last ones were handled. They share one transaction. */
function waitingIn(from: MessagePort): Request[] {
  const waiting: Request[] = []
  for (let next = receiveMessageOnPort(from); next !== undefined; next = receiveMessageOnPort(from))
    waiting.push(...(next.message as readonly Request[]))
  return waiting
}

function createAnswering({ transaction, file }: Database, calls: Calls) {
  function perform({ number, verb, args }: Request): Reply {
    const call = calls[verb] as (...args: readonly unknown[]) => unknown
    return { number, value: call(...args) }
  }

  function answer(request: Request): Reply {
    try {
      // Reads need no transaction, and closing is always possible.
      if (file.isReplaced && request.verb !== 'close') throw new MessagingWebhooksError('store_replaced')
      return perform(request)
    } catch (error) {
      return { number: request.number, error: sendError(error) }
    }
  }

  /** Commits all requests at once, durably if one of them must be. */
  function answerTogether(requests: readonly Request[]): readonly Reply[] {
    if (requests.length < 2) return requests.map(answer)
    const durable = requests.some(({ verb }) => verb === 'admit' || verb === 'admitAndClaim')
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
