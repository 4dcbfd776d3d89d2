/**
 * Processes that share the file. SQLite notifies none of them of the others, so each looks what they write, and whether they
 * live: a folder beside the database, locked as long as its process runs, shows it.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { systemClock } from '../../runtime/clock.ts'
import { isKnownDead, nodeFs } from '../../disk-log/node-file-system.ts'
import { isProcessFolder, makeProcessFolder } from '../../disk-log/process-folder.ts'
import type { StoreHolder } from '../../inbox/store.ts'
import { HOLDER_NAME } from '../holding.ts'
import type { Database } from './database.ts'
import type { ListedWorker, Workers } from './workers.ts'

/** How late work that another process admitted is noticed here, at most. */
const LOOK_EVERY_MS = 250
/** The death of another process is noticed at every fourth look, because that takes asking each of them. */
const LOOKS_FOR_DEAD = 4
/** To make a folder and its lock takes less. */
const UNFINISHED_MS = 60_000

interface Shared {
  readonly database: Database
  readonly workers: Workers
  /** Has a folder for each worker. */
  readonly folder: string
  /** Something may be due that was not. */
  readonly onWork: () => void
  /** The file was overwritten; called once. */
  readonly onReplaced: () => void
}

/** Looks for what others have written and for those that are dead: at once, and then as long as the store is open. */
export async function watchOthers(shared: Shared): Promise<void> {
  const { db, file } = shared.database
  // The counter of others' writes costs next to nothing to read, and so does the state of the file.
  const readVersion = db.prepare('PRAGMA data_version')
  let known = readVersion.get()?.['data_version']
  for (let looks = 0; db.isOpen; looks += 1) {
    try {
      if (file.look()) shared.onReplaced()
      const version = readVersion.get()?.['data_version']
      if (version !== known) shared.onWork()
      known = version
      if (looks % LOOKS_FOR_DEAD === 0) await releaseDead(shared)
    } catch {
      // The disk fails, or another process writes for long, or the store was closed: next time. The calls say what is wrong.
    }
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_EVERY_MS))
  }
}

/** Of a process that was killed before it was entered only the folder is left. */
async function releaseDead({ workers, folder, onWork }: Shared): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    if (name === workers.ownName || !isProcessFolder(basename(name, '.new')) || !(await isKnownDead(path))) continue
    // One that is being made looks dead for a moment: its lock stands there before it answers.
    if (!isProcessFolder(name) && !(await isOld(path))) continue
    if (workers.release(name) > 0) onWork()
    // Last: without its folder it would be no longer known to be dead.
    await rm(path, { recursive: true, force: true })
  }
}

async function isOld(folder: string): Promise<boolean> {
  const made = await stat(folder).catch(() => undefined)
  return made !== undefined && Math.abs(systemClock().now() - made.mtimeMs) > UNFINISHED_MS
}

/**
 * Undefined where no lock can be held, as on an odd file system: then others wait for our leases to run out. It is for
 * the thread in which the handlers run: it must not end before they do.
 */
export async function showLife(folder: string) {
  try {
    const home = await makeProcessFolder(nodeFs, folder)
    return {
      worker: { name: home.name, process: HOLDER_NAME, sinceMs: systemClock().now() },
      async end(): Promise<void> {
        await home.leave()
        await rm(home.folder, { recursive: true, force: true })
      },
    }
  } catch {
    return undefined
  }
}

/**
 * Those that show life now: one that died may not have been found out yet, and of a copied file all others are elsewhere. One of
 * which it cannot be told, as of another user's, is listed.
 */
export async function livingWorkers(
  folder: string,
  listed: readonly ListedWorker[],
  own: string | undefined,
): Promise<readonly StoreHolder[]> {
  const living: StoreHolder[] = []
  for (const { name, process = '', sinceMs, held } of listed) {
    const isSelf = name === own
    if (isSelf || (isProcessFolder(name) && (await nodeFs.isHeld(join(folder, name)).catch(() => true))))
      living.push({ id: name, name: process, isSelf, sinceMs, silentMs: 0, held })
  }
  return living
}
