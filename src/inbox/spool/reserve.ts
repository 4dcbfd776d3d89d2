/**
 * Room on the disk that was taken beforehand, as blocks of zeros, for the time when the disk is full. A file system that
 * compresses, or copies on write, may keep less than that.
 */
import { join } from 'node:path'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { FILE_MODE, isFull, syncFolder, systemCode, writeAll, type FileSystem } from '../../disk-log/file-system.ts'
import { processFoldersIn } from '../../disk-log/process-folder.ts'

/** The finished reserve; what a dead process left of it is taken over. */
const RESERVE_FILE = 'reserve'
/** One that is still being written. */
const UNFINISHED_RESERVE_FILE = 'reserve.new'
const CHUNK = Buffer.alloc(1024 * 1024)
/** As much as a few events take. */
const TRIED_BYTES = 64 * 1024
/** Enough for a few folders and their entries. */
const SHAVED_BYTES = 64 * 1024

export type Reserve = ReturnType<typeof createReserve>

export function createReserve({
  fs,
  folder,
  bytes,
  report,
}: {
  readonly fs: FileSystem
  readonly folder: string
  readonly bytes: number
  readonly report: (error: MessagingWebhooksError) => void
}) {
  const path = join(folder, RESERVE_FILE)
  const unfinished = join(folder, UNFINISHED_RESERVE_FILE)
  let isThere = false

  // Node has no posix_fallocate, and a file that is merely made longer has no blocks.
  async function writeZeros(length: number): Promise<void> {
    const file = await fs.open(unfinished, 'wx', FILE_MODE)
    try {
      for (let at = 0; at < length; at += CHUNK.length)
        await writeAll(file, CHUNK.subarray(0, Math.min(CHUNK.length, length - at)), at)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  return {
    /** Sets it aside where it is missing. A disk without room for it is reported; anything else rejects. */
    async restore(): Promise<void> {
      if (bytes === 0 || isThere) return
      try {
        if ((await sizeOf(fs, path)) < bytes) {
          await fs.rm(unfinished, { force: true })
          await writeZeros(bytes)
          await fs.rename(unfinished, path)
          await syncFolder(fs, folder)
        }
        isThere = true
      } catch (error) {
        await fs.rm(unfinished, { force: true }).catch(() => {})
        // EFBIG: this process may not write files as large as that.
        if (!isFull(error) && systemCode(error) !== 'EFBIG') throw error
        // A smaller one, of a process that met the same full disk, is better than none.
        isThere = (await sizeOf(fs, path)) > 0
        if (isThere) return
        report(new MessagingWebhooksError('disk_full', 'No reserve could be set aside.', { cause: error }))
      }
    },
    /** Whether the folder takes a few blocks now: they are written and removed again. Never at the same time as `restore`. */
    async canWrite(): Promise<boolean> {
      try {
        await fs.rm(unfinished, { force: true })
        await writeZeros(TRIED_BYTES)
        return true
      } catch {
        return false
      } finally {
        await fs.rm(unfinished, { force: true }).catch(() => {})
      }
    },
    /** Gives the file away under another name, to be written over in place; says whether there was one. */
    async handOver(to: string): Promise<boolean> {
      if (!isThere) return false
      await fs.rename(path, to)
      isThere = false
      await syncFolder(fs, folder)
      return true
    },
    /** Takes it back, where it was given away and could not be used. Never rejects. */
    async takeBack(from: string): Promise<void> {
      await fs.rename(from, path).then(
        () => (isThere = true),
        () => {},
      )
    },
  }
}

/**
 * Gives a little of a dead process's reserve back to a full disk, where not even a folder can be made any more. Says
 * whether there was one.
 */
export async function shaveReserve(fs: FileSystem, parent: string): Promise<boolean> {
  for (const name of await processFoldersIn(fs, parent)) {
    const path = join(parent, name, RESERVE_FILE)
    const size = await sizeIfKnown(fs, path)
    if (size <= SHAVED_BYTES || (await fs.isHeld(join(parent, name)))) continue
    await fs.truncate(path, size - SHAVED_BYTES)
    return true
  }
  return false
}

/** Takes over what a dead process had set aside, where it is the larger one: a full disk may have no room for another. */
export async function takeReserve(fs: FileSystem, from: string, to: string): Promise<void> {
  const [theirs, ours] = [join(from, RESERVE_FILE), join(to, RESERVE_FILE)]
  if ((await sizeIfKnown(fs, theirs)) > (await sizeIfKnown(fs, ours))) await fs.rename(theirs, ours)
  for (const name of [RESERVE_FILE, UNFINISHED_RESERVE_FILE]) await fs.rm(join(from, name), { force: true })
}

function sizeIfKnown(fs: FileSystem, path: string): Promise<number> {
  return sizeOf(fs, path).catch(() => 0)
}

/** The size of a finished reserve, which got its name when all of it was written. */
async function sizeOf(fs: FileSystem, path: string): Promise<number> {
  try {
    return (await fs.stat(path)).size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
}
