/** The thread that owns the connection of the store. It may wait for the disk and for locks without delaying callbacks. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { OPENED, sendError, type Ports, type Reply } from '../../sqlite/messages.ts'
import { openDatabase, UNTIMED, type Database } from './database.ts'
import { createEngine, type Engine } from './engine.ts'
import {
  createCalls,
  isDurableRequest,
  isLast,
  isTogether,
  type Calls,
  type Request,
  type WorkerSettings,
} from './protocol.ts'
import { watchOthers } from './workers.ts'

/** Returns when the file cannot be opened, which ends the thread. */
export async function serveStore({ requests, replies }: Ports, settings: WorkerSettings): Promise<void> {
  const send = (...reply: readonly Reply[]): void => replies.postMessage(reply)
  const report = (error: MessagingWebhooksError): void => send({ report: sendError(error) })
  const calls: Waiting = { unanswered: [], answerAll() {} }
  let worker = settings.worker

  function receive(received: readonly Request[]): void {
    calls.unanswered = [...calls.unanswered, ...received]
    calls.answerAll()
  }

  requests.on('message', receive)
  try {
    for (;;) {
      const database = await openDatabase(settings.database)
      const engine = createEngine({ database, retention: settings.retention })
      if (worker !== undefined) engine.workers.enter(worker)
      send({ number: OPENED, value: database.latestNowMs })
      await serve({ requests, send, calls, database, engine, settings, entered: (own) => (worker = own) })
      database.abandon()
      report(new MessagingWebhooksError('store_replaced'))
    }
  } catch (error) {
    // The next call starts another thread, which opens the file again.
    requests.off('message', receive)
    send({ number: OPENED, error: sendError(error) })
  }
}

interface Waiting {
  unanswered: readonly Request[]
  /** Without effect while no file is open. */
  answerAll: () => void
}

interface Serving {
  readonly requests: MessagePort
  readonly send: (...reply: readonly Reply[]) => void
  readonly calls: Waiting
  readonly database: Database
  readonly engine: Engine
  readonly settings: WorkerSettings
  readonly entered: (worker: WorkerSettings['worker']) => void
}

/** Answers requests until the file is no longer at its path. The next file gets those of which the answer would be void. */
function serve({ requests, send, calls: waiting, database, engine, settings, entered }: Serving): Promise<void> {
  const calls = createCalls(engine)
  const answer = createAnswering(database, {
    ...calls,
    enter(own) {
      entered(own)
      calls.enter(own)
    },
  })
  return new Promise((resolve) => {
    function leave(): void {
      waiting.answerAll = () => {}
      resolve()
    }
    waiting.answerAll = () => {
      // After each call for people, calls that arrived meanwhile run first.
      for (;;) {
        waiting.unanswered = [...waiting.unanswered, ...waitingIn(requests)]
        const first = waiting.unanswered.filter((request) => !isLast(request))
        const now = first.length > 0 ? first : waiting.unanswered.slice(0, 1)
        if (now.length === 0) return
        const replies = answer(now)
        // After the commit: what was written to a file that is gone must not be answered.
        if (database.db.isOpen && database.isReplaced()) {
          leave()
          return
        }
        waiting.unanswered = first.length > 0 ? waiting.unanswered.filter(isLast) : waiting.unanswered.slice(1)
        send(...replies)
      }
    }
    void watchOthers({
      database,
      workers: engine.workers,
      folder: settings.workersFolder,
      onWork: () => send({ notice: 'work' }),
      onReplaced: leave,
    })
    // Last, because one of these requests may close the file.
    waiting.answerAll()
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
    const durable = requests.some(isDurableRequest)
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
