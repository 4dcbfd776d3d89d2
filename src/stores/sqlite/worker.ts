/** The thread that owns the connection: it may wait for the disk and for locks, and nobody's request waits with it. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { ClaimRequest } from '../../inbox/store.ts'
import { openDatabase, UNTIMED, type Database } from './database.ts'
import { unpackEvents, type PackedEvents } from './encoding.ts'
import { createEngine, type Engine } from './engine.ts'
import {
  OPENED,
  REPORT,
  LOOKS,
  TOGETHER,
  WORK_CAME,
  type OurError,
  type Reply,
  type Request,
  type WorkerSettings,
} from './protocol.ts'
import { watchDeaths, watchWrites } from './sharing.ts'

const port = parentPort
if (port === null) throw new Error('This file runs in a worker thread.')

// The first message of each side is the opening; what the main thread sends later waits in the port until then.
const settings = workerData as WorkerSettings
try {
  const database = await openDatabase(settings.database)
  const { engine, holders } = createEngine({
    database,
    retention: settings.retention,
    report({ code, detail }) {
      const value: OurError = { code, detail }
      post(port, [{ number: REPORT, ok: true, value }])
    },
  })
  const answerAll = createAnswering(database, engine)
  post(port, [{ number: OPENED, ok: true, value: engine.latestNowMs }])
  const watched = {
    clock: systemClock(),
    db: database.db,
    holders,
    holdersFolder: settings.holdersFolder,
    onWork: () => post(port, [{ number: WORK_CAME, ok: true, value: undefined }]),
    file: database.file,
    onReplaced: () =>
      post(port, [
        { number: REPORT, ok: true, value: { code: 'store_replaced', detail: undefined } satisfies OurError },
      ]),
  }
  watchWrites(watched)
  void watchDeaths(watched)
  let looks: Request[] = []
  port.on('message', (requests: readonly Request[]) => {
    // After each look, whatever has come meanwhile goes before the next one.
    for (
      let came = [...requests, ...waitingIn(port)];
      came.length > 0 || looks.length > 0;
      came = [...waitingIn(port)]
    ) {
      looks = [...looks, ...came.filter(({ verb }) => LOOKS.has(verb))]
      const others = came.filter(({ verb }) => !LOOKS.has(verb))
      if (others.length > 0) post(port, answerAll(others))
      else post(port, answerAll(looks.splice(0, 1)))
    }
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

/** Answers in the order of the requests: what was asked at once, in one transaction where that can be. */
function createAnswering(
  { transaction, file }: Database,
  engine: Engine,
): (requests: readonly Request[]) => readonly Reply[] {
  function answer(request: Request): Reply {
    try {
      // Looks need no transaction; closing is always possible.
      if (file.isReplaced && request.verb !== 'close') throw new MessagingWebhooksError('store_replaced')
      return { number: request.number, ok: true, value: perform(engine, request) }
    } catch (error) {
      return failure(request.number, error)
    }
  }

  /** One commit for all, durable where one of them must be. */
  function answerTogether(requests: readonly Request[]): readonly Reply[] {
    const durable = requests.some(({ verb }) => verb === 'admit' || verb === 'admitAndClaim')
    try {
      return transaction(durable, UNTIMED, () =>
        requests.map((request): Reply => ({ number: request.number, ok: true, value: perform(engine, request) })),
      )
    } catch (error) {
      // Of the file or its disk: another try would fail as this one, perhaps after as long a wait for a lock.
      if (error instanceof MessagingWebhooksError) return requests.map(({ number }) => failure(number, error))
      // Of the data: nobody suffers for what another one asked.
      return requests.map(answer)
    }
  }

  return (requests) => {
    const replies: Reply[] = []
    let together: Request[] = []
    function answerGathered(): void {
      const [first, second] = together
      if (first !== undefined) replies.push(...(second === undefined ? [answer(first)] : answerTogether(together)))
      together = []
    }
    for (const request of requests) {
      if (TOGETHER.has(request.verb)) {
        together.push(request)
      } else {
        answerGathered()
        replies.push(answer(request))
      }
    }
    answerGathered()
    return replies
  }
}

function perform(engine: Engine, { verb, args }: Request): unknown {
  if (verb === 'admit') {
    const [packed, nowMs] = args as [PackedEvents, number]
    return engine.admit(unpackEvents(packed), nowMs)
  }
  if (verb === 'admitAndClaim') {
    const [packed, claim] = args as [PackedEvents, ClaimRequest]
    return engine.admitAndClaim(unpackEvents(packed), claim)
  }
  if (verb === 'admitOverdue') {
    const [packed, nowMs] = args as [PackedEvents, number]
    return engine.admitOverdue?.(unpackEvents(packed), nowMs)
  }
  const call = engine[verb] as (...args: readonly unknown[]) => unknown
  return call(...args)
}

/** An error of ours loses its class on its way to the other thread. */
function failure(number: number, error: unknown): Reply {
  const ours = error instanceof MessagingWebhooksError ? { code: error.code, detail: error.detail } : undefined
  return { number, ok: false, error: error instanceof Error ? error : String(error), ours }
}
