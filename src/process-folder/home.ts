/** The folder of one process inside a shared one, so that two processes never write or empty the same file. */
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { FOLDER_MODE, syncFolder, systemCode, type FileSystem } from './files.ts'
import { LOCK_FILE } from './lock.ts'

/** The version of the format stands in front, so that no version takes another's files for damaged ones. */
const NAME = /^v1-[0-9a-f]{12}$/

export interface Home {
  readonly folder: string
  readonly name: string
  /** Leaves what is in it to the next process that looks for what dead ones left. */
  leave(): Promise<void>
}

export function isHome(name: string): boolean {
  return NAME.test(name)
}

/** The names of the processes' folders in one; a file of such a name is not ours. */
export async function homesIn(fs: FileSystem, folder: string): Promise<readonly string[]> {
  return (await fs.foldersIn(folder)).filter(isHome)
}

/**
 * Makes a folder that no other process uses. It gets its name only when its lock is held already: a folder of that name
 * whose lock nobody holds is a dead process's, at any moment.
 */
export async function makeHome(fs: FileSystem, parent: string): Promise<Home> {
  await makeFolder(fs, parent)
  const name = `v1-${randomBytes(6).toString('hex')}`
  const folder = join(parent, name)
  const unfinished = `${folder}.new`
  await fs.mkdir(unfinished, { mode: FOLDER_MODE })
  try {
    const lock = await fs.holdLock(unfinished)
    try {
      await fs.rename(unfinished, folder)
      await syncFolder(fs, parent)
    } catch (error) {
      await lock.release()
      throw error
    }
    return {
      folder,
      name,
      async leave() {
        await lock.release()
        // One that nobody holds any more says the same as none.
        await fs.rm(join(folder, LOCK_FILE), { force: true }).catch(() => {})
      },
    }
  } catch (error) {
    await fs.rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** Moves the folder of a dead process; one rename decides which of several processes gets it. */
export async function takeIfDead(fs: FileSystem, from: string, to: string): Promise<void> {
  if (await fs.isHeld(from)) return
  try {
    await fs.rename(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}

/** Makes a folder and those above it, so that none of them is lost with the power. */
async function makeFolder(fs: FileSystem, path: string): Promise<void> {
  const first = await fs.mkdir(path, { recursive: true, mode: FOLDER_MODE })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let folder = resolve(path); folder !== top;) {
    folder = dirname(folder)
    await syncFolder(fs, folder)
  }
}
