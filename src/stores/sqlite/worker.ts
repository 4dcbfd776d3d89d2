/** The thread that owns the connection: it may wait for the disk and for locks, and nobody's request waits with it. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { openDatabase, type Database } from './database.ts'
import { createEngine, type SyncStore } from './engine.ts'
import {
  OPENED,
  OTHERS_WROTE,
  unpackEvents,
  type PackedEvents,
  type Reply,
  type Request,
  type WorkerSettings,
} from './protocol.ts'

/** How late work that another process admitted is noticed here, at most. */
const LOOK_EVERY_MS = 250

const port = parentPort
if (port === null) throw new Error('This file runs in a worker thread.')

// The first message of each side is the opening; what the main thread sends later waits in the port until then.
const settings = workerData as WorkerSettings
try {
  const database = await openDatabase(settings.database)
  const store = createEngine(database, settings.retention)
  port.postMessage({ number: OPENED, ok: true, value: undefined } satisfies Reply)
  watchOthers(port, database)
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

/** SQLite tells nobody that another process has written; its counter of such writes costs next to nothing to read. */
function watchOthers(to: MessagePort, { db }: Database): void {
  const clock = systemClock()
  const version = db.prepare('PRAGMA data_version')
  let known = version.get()?.['data_version']
  function look(): void {
    if (!db.isOpen) return
    const now = version.get()?.['data_version']
    if (now !== known) to.postMessage({ number: OTHERS_WROTE, ok: true, value: undefined } satisfies Reply)
    known = now
    clock.setTimer(look, LOOK_EVERY_MS)
  }
  clock.setTimer(look, LOOK_EVERY_MS)
}
