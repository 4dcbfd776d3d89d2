/** The real engines of the stores, each in a location of its own, called one request at a time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { MessageStore } from '../../src/inbox/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { createLatestTime, openDatabase, type Database } from '../../src/stores/sqlite/database.ts'
import { packEvents, unpackEvents } from '../../src/stores/sqlite/encoding.ts'
import { createEngine, type Engine as SqliteEngine } from '../../src/stores/sqlite/engine.ts'

/** An engine that belongs to one world. */
export interface Engine {
  readonly name: string
  readonly store: MessageStore
  /** Receives calls of all processes in order; the times passed to it never decrease. */
  readonly isInOrder?: boolean
  /** The server, or the process that holds the file, restarts; confirmed data is kept. */
  restart(): Promise<void>
  remove(): Promise<void>
}

/** Memory is called like a server, although it forgets with its process: its decisions are the same. */
export async function memoryEngine(): Promise<Engine> {
  // Callers are not notified.
  const store = { ...(await memoryStore().open({ onWork: () => {} })), notifiesRemaining: false }
  return { name: 'memory', store, isInOrder: true, async restart() {}, async remove() {} }
}

const DAYS = 3_650
const HERE = process.platform === 'linux' ? '/dev/shm' : tmpdir()

/** SQLite in this thread, on a file in memory; other tests cover its thread and the disk. */
export async function sqliteEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(HERE, 'simulation-'))
  const openFile = () => openDatabase({ path: join(folder, 'file.db'), synchronous: 'OFF', busyTimeoutMs: 1_000 })
  const open = (on: Database): SqliteEngine => {
    const retention = { retentionDays: DAYS, deadLetterDays: DAYS, dedupeDays: DAYS }
    // No row is corrupt here.
    const report = (error: Error): never => {
      throw error
    }
    return createEngine({ database: on, retention, report })
  }
  let database = await openFile()
  let engine = open(database)
  const encoded = (events: readonly NewEvent[]) => unpackEvents(packEvents(events))
  const store: MessageStore = {
    get latestNowMs() {
      // The state that a process sees when it opens the file now.
      return createLatestTime(database.db).atOpening
    },
    admit: (events, nowMs) => engine.admit(encoded(events), nowMs),
    admitAndClaim: (events, request) => engine.admitAndClaim(encoded(events), request),
    claim: (request) => engine.claim(request),
    settle: (settlements, nowMs) => engine.settle(settlements, nowMs),
    latest: (messageKey) => engine.latest(messageKey),
    deadLetters: (page) => engine.deadLetters(page),
    events: (page) => engine.events(page),
    kept: (page) => engine.kept(page),
    forget: (request, nowMs) => engine.forget(request, nowMs),
    resolve: (id, resolution, nowMs) => engine.resolve(id, resolution, nowMs),
    prune: (nowMs) => engine.prune(nowMs),
    counts: () => engine.counts(),
    close() {},
  }
  return {
    name: 'sqlite',
    store,
    async restart() {
      await engine.close()
      database = await openFile()
      engine = open(database)
    },
    async remove() {
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
