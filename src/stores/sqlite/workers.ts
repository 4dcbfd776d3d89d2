/**
 * The processes that share the file. Each registers as a worker, so that leases of a dead process need not expire, and has a
 * folder beside the database, locked while it runs. SQLite does not notify them of each other's writes, so each polls for writes
 * and for the death of others.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Retention } from '../../messages/commands.ts'
import type { LocalEngine } from '../engine.ts'
import { runLocally } from '../local.ts'
import { UNTIMED, type Database } from './database.ts'
import { cut, integer, text } from './encoding.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { WorkerState } from '../../inbox/store.ts'
import { WORKER_NAME } from '../holding.ts'
import { isHeld, isKnownDead, isWorkerFolder, makeWorkerFolder } from './worker-folder.ts'
import { sql, type Sql } from '../../runtime/sql.ts'

/** A process that leases events. */
export interface Worker {
  /** The name of its folder, whose lock shows whether the worker is alive. */
  readonly name: string
  /** Host name and process id. */
  readonly process: string
  /** When the process opened the store. */
  readonly sinceMs: number
}

type Workers = ReturnType<typeof createWorkerTable>

export function createWorkerTable({ db, transaction }: Database, engine: LocalEngine, retention: Retention) {
  const prepare = (text: Sql) => db.prepare(text)
  const insert = prepare(sql`INSERT INTO workers (name, process, since) VALUES (?, ?, ?)`)
  const remove = prepare(sql`DELETE FROM workers WHERE name = ?`)
  /**
   * Records leased by this worker. Walks through unsettled records, once per death, so that claims need not maintain another
   * index (35 ms with 200,000 waiting messages, measured).
   */
  const heldBy = prepare(sql`
SELECT lower(hex(key)) AS key, CAST(workers.worker AS TEXT) AS worker
FROM records INDEXED BY records_due JOIN workers ON workers.worker = records.worker WHERE due IS NOT NULL AND name = ?`)
  /** Walks through unsettled records like `heldBy`. */
  const list = prepare(sql`
SELECT name, min(process) AS process, sum(coalesce(held, 0)) AS held, ${cut(sql`min(since)`)} AS since
FROM workers LEFT JOIN (
  SELECT worker AS of_worker, count(*) AS held
  FROM records INDEXED BY records_due WHERE due IS NOT NULL AND worker IS NOT NULL GROUP BY records.worker
) ON of_worker = worker
GROUP BY name ORDER BY min(since), min(worker)`)
  let own = ''
  let ownName: string | undefined

  function releaseNow(name: string): number {
    const releases = heldBy.all(name).map((row) => {
      return { do: 'release', key: text(row, 'key'), worker: text(row, 'worker') } as const
    })
    runLocally(engine, releases, { nowMs: UNTIMED, trustedMs: UNTIMED, worker: own, retention })
    remove.run(name)
    return releases.length
  }

  return {
    /**
     * The worker's name in leases. Empty before `enter`, and if the process cannot hold a lock: its leases then expire by time.
     */
    get own() {
      return own
    },
    get ownName() {
      return ownName
    },
    /**
     * Registers this worker, again after a restart of its thread. Leases whose answers were lost with the old thread expire by
     * time.
     */
    enter({ name, process, sinceMs }: Worker): void {
      own = transaction(false, UNTIMED, () => String(insert.run(name, process, sinceMs).lastInsertRowid))
      ownName = name
    },
    /** All registered workers, alive or not, oldest first, with the number of events under their leases. */
    listed: () =>
      list.all().map((row) => ({
        name: text(row, 'name'),
        process: text(row, 'process'),
        sinceMs: integer(row, 'since'),
        held: integer(row, 'held'),
      })),
    /** Releases the leases of a worker that is dead or closes, and removes it. Returns the number of leases. */
    release: (name: string) => transaction(false, UNTIMED, () => releaseNow(name)),
  }
}

/** The longest delay until work that another process admitted is noticed here. */
const LOOK_EVERY_MS = 250
/** Deaths are checked at every fourth poll, because the check looks at each process. */
const LOOKS_FOR_DEAD = 4
/** A folder older than this is complete or abandoned: creating it and its lock takes less time. */
const UNFINISHED_MS = 60_000

interface Shared {
  readonly database: Database
  readonly workers: Workers
  /** Contains a folder for each worker. */
  readonly folder: string
  /** Called when an event may be due. */
  readonly onWork: () => void
  /** Called when the file is no longer at its path. */
  readonly onReplaced: () => void
}

/** Polls for writes and deaths of other processes, at once and then while the store is open. */
export async function watchOthers(shared: Shared): Promise<void> {
  const { db, isReplaced } = shared.database
  const readVersion = db.prepare(sql`PRAGMA data_version`)
  let known = readVersion.get()?.['data_version']
  for (let looks = 0; db.isOpen; looks += 1) {
    try {
      if (isReplaced()) {
        shared.onReplaced()
        return
      }
      const version = readVersion.get()?.['data_version']
      if (version !== known) shared.onWork()
      known = version
      if (looks % LOOKS_FOR_DEAD === 0) await releaseDead(shared)
    } catch {
      // The disk failed, another process writes for long, or the store was closed. Try again at the next poll; the calls report
      // the error.
    }
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_EVERY_MS))
  }
}

/** Also removes the folder of a process that was killed before it registered. */
async function releaseDead({ workers, folder, onWork }: Shared): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    if (name === workers.ownName || !isWorkerFolder(basename(name, '.new')) || !(await isKnownDead(path))) continue
    // A folder being created looks dead for a moment: its lock exists before it answers.
    if (!isWorkerFolder(name) && !(await isOld(path))) continue
    if (workers.release(name) > 0) onWork()
    // Remove the folder last: without it, the worker could no longer be recognised as dead.
    await rm(path, { recursive: true, force: true })
  }
}

async function isOld(folder: string): Promise<boolean> {
  const made = await stat(folder).catch(() => undefined)
  return made !== undefined && Math.abs(systemClock().now() - made.mtimeMs) > UNFINISHED_MS
}

/**
 * Undefined if the file system supports no lock. Other processes then wait for leases to expire. Call it in the thread that
 * runs the handlers, because the lock must end with them.
 */
export async function registerWorker(folder: string) {
  try {
    const home = await makeWorkerFolder(folder)
    return {
      worker: { name: home.name, process: WORKER_NAME, sinceMs: systemClock().now() },
      end: home.end,
    }
  } catch {
    return undefined
  }
}

/**
 * Excludes workers that died unnoticed, and all others in a copied file. Includes a worker of unknown state, such as another
 * user's.
 */
export async function livingWorkers(
  folder: string,
  listed: ReturnType<Workers['listed']>,
  own: string | undefined,
): Promise<readonly WorkerState[]> {
  const living: WorkerState[] = []
  for (const { name, process, sinceMs, held } of listed) {
    const isSelf = name === own
    if (isSelf || (isWorkerFolder(name) && (await isHeld(join(folder, name)).catch(() => true))))
      living.push({ id: name, name: process, isSelf, sinceMs, silentMs: 0, held })
  }
  return living
}
