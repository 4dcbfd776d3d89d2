/** The folder of one process inside a shared one, so that two processes never write or empty the same file. */
import { randomBytes } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { FOLDER_MODE, LOCK_FILE, syncFolder, systemCode, type FileSystem } from './file-system.ts'
import { logFileName, parseLogFileName, type LogFileName } from './log-file.ts'

/** Starts with the version of the format, so that no version mistakes another's files for corrupt ones. */
const NAME = /^v1-[0-9a-f]{12}$/

export type ProcessFolder = Awaited<ReturnType<typeof makeProcessFolder>>

export function isProcessFolder(name: string): boolean {
  return NAME.test(name)
}

/** The names of the process folders. Ignores files with such a name. */
export async function processFoldersIn(fs: FileSystem, folder: string): Promise<readonly string[]> {
  return (await fs.foldersIn(folder)).filter(isProcessFolder)
}

/**
 * Creates a folder for this process only. The folder gets its name after its lock is held: a folder with such a name and no
 * held lock always belongs to a dead process.
 */
export async function makeProcessFolder(fs: FileSystem, parent: string) {
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
      /** Leaves the contents to the next process that adopts folders of dead ones. */
      async leave(): Promise<void> {
        await lock.release()
        // An abandoned lock means the same as none.
        await fs.rm(join(folder, LOCK_FILE), { force: true }).catch(() => {})
      },
    }
  } catch (error) {
    await fs.rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** Creates a folder and its parents durably. */
async function makeFolder(fs: FileSystem, path: string): Promise<void> {
  const first = await fs.mkdir(path, { recursive: true, mode: FOLDER_MODE })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let folder = resolve(path); folder !== top;) {
    folder = dirname(folder)
    await syncFolder(fs, folder)
  }
}

interface Adoption {
  readonly fs: FileSystem
  readonly parent: string
  readonly own: ProcessFolder
  /** Extension of the files. */
  readonly extension: string
  /** Called if a folder could not be moved. The other folders are still adopted. */
  readonly failed: (error: unknown) => void
  /** Adopts or removes the other contents of a dead process's folder. */
  readonly takeRest?: (from: string) => Promise<void>
}

interface Left {
  readonly folder: string
  /** In order. */
  readonly files: readonly LogFileName[]
}

/** Counts the running and the dead processes with a folder in `parent`, which may not exist. */
export async function processesIn(
  fs: FileSystem,
  parent: string,
): Promise<{ readonly running: number; readonly dead: number }> {
  const count = { running: 0, dead: 0 }
  try {
    for (const name of await processFoldersIn(fs, parent))
      count[(await fs.isHeld(join(parent, name))) ? 'running' : 'dead'] += 1
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
  return count
}

/** Moves the files of dead processes into `own`, renumbered in order. Returns their names there. */
export async function adoptDead(adoption: Adoption): Promise<readonly LogFileName[]> {
  const { fs, parent, own, extension, failed, takeRest } = adoption
  for (const name of await processFoldersIn(fs, parent)) {
    if (name === own.name) continue
    // The folder may belong to another user. That must not stop this process.
    await takeIfDead(fs, join(parent, name), join(own.folder, name)).catch(failed)
  }
  const left = await findLeft(fs, own.folder, extension)
  const adopted: LogFileName[] = []
  for (const { folder, files } of left)
    for (const file of files) {
      const name = { number: adopted.length + 1, salt: file.salt }
      await fs.rename(join(folder, logFileName(file, extension)), join(own.folder, logFileName(name, extension)))
      adopted.push(name)
    }
  for (const { folder } of left) await takeRest?.(folder)
  if (left.length > 0) await syncFolder(fs, own.folder)
  await removeLeft(fs, left, parent)
  return adopted
}

/** Moves the folder of a dead process. The rename decides which of several processes gets it. */
async function takeIfDead(fs: FileSystem, from: string, to: string): Promise<void> {
  if (await fs.isHeld(from)) return
  try {
    await fs.rename(from, to)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}

/**
 * The folders inside `folder`, oldest first, including nested ones of a process that ended while adopting. A process numbers
 * its own files after adopted ones, so the order survives any number of crashes.
 */
async function findLeft(fs: FileSystem, folder: string, extension: string): Promise<readonly Left[]> {
  const found: Left[] = []
  for (const name of await processFoldersIn(fs, folder)) {
    const inside = join(folder, name)
    const files = (await fs.readdir(inside)).flatMap((entry) => parseLogFileName(entry, extension) ?? [])
    found.push({ folder: inside, files: files.toSorted((a, b) => a.number - b.number) })
    found.push(...(await findLeft(fs, inside, extension)))
  }
  return found.toSorted((a, b) => firstNumber(a) - firstNumber(b))
}

function firstNumber({ files }: Left): number {
  return files[0]?.number ?? 0
}

/**
 * Removes the folders, inner ones first. A folder with unknown contents moves to `parent`: inside ours it would move deeper
 * with each process, until its path is too long for the system.
 */
async function removeLeft(fs: FileSystem, left: readonly Left[], parent: string): Promise<void> {
  for (const { folder } of left.toSorted((a, b) => b.folder.length - a.folder.length)) {
    await fs.rm(join(folder, LOCK_FILE), { force: true })
    await fs.rmdir(folder).catch(() => fs.rename(folder, join(parent, basename(folder))).catch(() => {}))
  }
}
