/** The real engines of the stores, each with a place of its own, asked one thing at a time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent, OpenStore } from '../../src/inbox/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { createLatestTime, openDatabase, type Database } from '../../src/stores/sqlite/database.ts'
import { packEvents, unpackEvents } from '../../src/stores/sqlite/encoding.ts'
import { createEngine, type Engine as SqliteEngine } from '../../src/stores/sqlite/engine.ts'

/** An engine that a world has for itself. */
export interface Engine {
  readonly name: string
  readonly store: OpenStore
  /** Asked in the order of the calls, whoever makes them: it takes the times that it is told for ever later ones. */
  readonly isInOrder?: boolean
  /** The server, or whoever holds the file, ends and begins anew; what it had said to be kept is kept. */
  restart(): Promise<void>
  remove(): Promise<void>
}

/** Memory is asked as a server is, though it forgets with its process: what it decides is decided alike. */
export async function memoryEngine(): Promise<Engine> {
  // Those that ask it hear nothing of it.
  const store = { ...(await memoryStore().open({ onWork: () => {} })), notifiesRemaining: false }
  return { name: 'memory', store, isInOrder: true, async restart() {}, async remove() {} }
}

const DAYS = 3_650
const HERE = process.platform === 'linux' ? '/dev/shm' : tmpdir()

/** SQLite in this thread, on a file in memory: what its thread and the disk do is tested elsewhere. */
export async function sqliteEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(HERE, 'simulation-'))
  const openFile = () => openDatabase({ path: join(folder, 'file.db'), synchronous: 'OFF', busyTimeoutMs: 1_000 })
  const open = (on: Database): SqliteEngine => {
    const retention = { retentionDays: DAYS, deadLetterDays: DAYS, dedupeDays: DAYS }
    // No row is spoilt here.
    const report = (error: Error): never => {
      throw error
    }
    return createEngine({ database: on, retention, report })
  }
  let database = await openFile()
  let engine = open(database)
  const encoded = (events: readonly NewEvent[]) => unpackEvents(packEvents(events))
  const store: OpenStore = {
    get latestNowMs() {
      // As a process reads it that opens the file now.
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
