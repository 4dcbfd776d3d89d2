/** The thread that owns the connection: it may wait for the disk and for locks, and nobody's request waits with it. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import type { ClaimRequest } from '../../inbox/store.ts'
import { openDatabase } from './database.ts'
import { createEngine, type SyncStore } from './engine.ts'
import { createHolders } from './holders.ts'
import {
  OPENED,
  unpackEvents,
  type PackedEvents,
  type Reply,
  type Request,
  WORK_CAME,
  type WorkerSettings,
} from './protocol.ts'
import { watchDeaths, watchWrites } from './watch.ts'

const port = parentPort
if (port === null) throw new Error('This file runs in a worker thread.')

// The first message of each side is the opening; what the main thread sends later waits in the port until then.
const settings = workerData as WorkerSettings
try {
  const database = await openDatabase(settings.database)
  const holders = createHolders(database)
  const store = createEngine(database, settings.retention, holders)
  port.postMessage({ number: OPENED, ok: true, value: store.latestNowMs } satisfies Reply)
  const watched = {
    clock: systemClock(),
    db: database.db,
    holders,
    holdersFolder: settings.holdersFolder,
    onWork: () => port.postMessage({ number: WORK_CAME, ok: true, value: undefined } satisfies Reply),
  }
  watchWrites(watched)
  void watchDeaths(watched)
  port.on('message', (request: Request) => {
    port.postMessage(answer(store, request))
  })
} catch (error) {
  port.postMessage(failure(OPENED, error))
}

function answer(store: SyncStore, { number, verb, args }: Request): Reply {
  try {
    if (verb === 'admit') {
      const [packed, nowMs] = args as [PackedEvents, number]
      return { number, ok: true, value: store.admit(unpackEvents(packed), nowMs) }
    }
    if (verb === 'admitAndClaim') {
      const [packed, claim] = args as [PackedEvents, ClaimRequest]
      return { number, ok: true, value: store.admitAndClaim(unpackEvents(packed), claim) }
    }
    const call = store[verb] as (...args: readonly unknown[]) => unknown
    return { number, ok: true, value: call(...args) }
  } catch (error) {
    return failure(number, error)
  }
}

function failure(number: number, error: unknown): Reply {
  const ours = error instanceof MessagingWebhooksError ? { code: error.code, detail: error.detail } : undefined
  return { number, ok: false, error: error instanceof Error ? error : String(error), ours }
}
