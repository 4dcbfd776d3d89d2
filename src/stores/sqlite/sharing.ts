/**
 * Processes that share the file. SQLite tells nobody of the others, so each looks what they write, and whether they live: a
 * folder beside the database, locked as long as its process runs, shows it.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock, type Clock } from '../../clock.ts'
import { isKnownDead, nodeFs } from '../../disk-log/node-file-system.ts'
import { isProcessFolder, makeProcessFolder } from '../../disk-log/process-folder.ts'
import type { StoreHolder } from '../../inbox/store.ts'
import { HOLDER_NAME } from '../holding.ts'
import type { FileWatch } from './file-watch.ts'
import type { Holders, HoldingStore, ListedHolder } from './holders.ts'

/** How late work that another process admitted is noticed here, at most. */
const LOOK_EVERY_MS = 250
/** How late the death of another process is noticed, which takes asking each of them. */
const LOOK_FOR_DEAD_EVERY_MS = 1_000
/** A sign of life is made in less. */
const UNFINISHED_MS = 60_000

interface Watched {
  readonly clock: Clock
  readonly db: DatabaseSync
  readonly holders: Holders
  /** Holds a folder for each open store. */
  readonly holdersFolder: string
  /** Something may be due that was not. */
  readonly onWork: () => void
  readonly file: FileWatch
  /** The file was overwritten; said once. */
  readonly onReplaced: () => void
}

/** The counter of others' writes costs next to nothing to read, and so does the state of the file. */
export function watchWrites({ clock, db, onWork, file, onReplaced }: Watched): void {
  const version = db.prepare('PRAGMA data_version')
  let known = version.get()?.['data_version']
  function look(): void {
    if (!db.isOpen) return
    try {
      if (file.look()) onReplaced()
      const now = version.get()?.['data_version']
      if (now !== known) onWork()
      known = now
    } catch {
      // The disk, perhaps. It must not end the thread; the verbs say what is wrong.
    }
    clock.setTimer(look, LOOK_EVERY_MS)
  }
  clock.setTimer(look, LOOK_EVERY_MS)
}

/** Releases what dead processes held: at once, and then as long as the store is open. */
export async function watchDeaths(watched: Watched): Promise<void> {
  const { clock, db, holders, holdersFolder } = watched
  for (let first = true; db.isOpen; first = false) {
    try {
      await releaseDead(watched)
      if (first)
        await removeStraySigns(
          holdersFolder,
          holders.others().map(({ name }) => name),
        )
    } catch {
      // Somebody writes for long, or the store is away, or it was closed meanwhile: next time, if there is one.
    }
    await new Promise<void>((resolve) => void clock.setTimer(resolve, LOOK_FOR_DEAD_EVERY_MS))
  }
}

async function releaseDead({ holders, holdersFolder, onWork }: Watched): Promise<void> {
  for (const { holder, name } of holders.others()) {
    if (!(await isDead(holdersFolder, name))) continue
    if (holders.release(holder) > 0) onWork()
    // Last: without its folder it would be no longer known to be dead.
    await removeSign(holdersFolder, name)
  }
}

interface SignOfLife extends HoldingStore {
  end(): Promise<void>
}

/**
 * Undefined where no lock can be held, as on an odd file system: then others wait for our leases to run out. It is for
 * the thread in which the handlers run: it must not end before they do.
 */
export async function showLife(folder: string): Promise<SignOfLife | undefined> {
  try {
    const home = await makeProcessFolder(nodeFs, folder)
    return {
      name: home.name,
      process: HOLDER_NAME,
      sinceMs: systemClock().now(),
      async end() {
        await home.leave()
        await rm(home.folder, { recursive: true, force: true })
      },
    }
  } catch {
    return undefined
  }
}

/**
 * Whether the store of this name is dead for certain. Where there is no folder or no lock in it, it may have been removed
 * by hand, or the file may be a copy: then nobody knows, and the leases run out.
 */
function isDead(folder: string, name: string): Promise<boolean> {
  return isProcessFolder(name) ? isKnownDead(join(folder, name)) : Promise.resolve(false)
}

/** Those that show life now. Of one that died nobody may have found it out yet, and of a copied file all others are elsewhere. */
export async function livingHolders(
  folder: string,
  listed: readonly ListedHolder[],
  own: string | undefined,
): Promise<readonly StoreHolder[]> {
  const living: StoreHolder[] = []
  for (const { name, process = '', sinceMs, held } of listed) {
    const isSelf = name === own
    if (isSelf || (await showsLife(folder, name)))
      living.push({ id: name, name: process, isSelf, sinceMs, silentMs: 0, held })
  }
  return living
}

/** Yes where it cannot be told, as of another user's. */
async function showsLife(folder: string, name: string): Promise<boolean> {
  return isProcessFolder(name) && (await nodeFs.isHeld(join(folder, name)).catch(() => true))
}

async function removeSign(folder: string, name: string): Promise<void> {
  await rm(join(folder, name), { recursive: true, force: true })
}

/** Removes what processes left that were killed before they entered their name, or after it was taken out. */
async function removeStraySigns(folder: string, known: readonly string[]): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const isComplete = isProcessFolder(name)
    if (known.includes(name) || !(isComplete || isProcessFolder(basename(name, '.new')))) continue
    if ((isComplete || (await isOld(join(folder, name)))) && (await isKnownDead(join(folder, name))))
      await removeSign(folder, name)
  }
}

/** One that is being made looks dead for a moment: its lock stands there before it answers. */
async function isOld(folder: string): Promise<boolean> {
  const made = await stat(folder).catch(() => undefined)
  return made !== undefined && Math.abs(systemClock().now() - made.mtimeMs) > UNFINISHED_MS
}
