/**
 * Disk space reserved in advance as blocks of zeros, for when the disk is full. A file system that compresses or copies on
 * write may reserve less.
 */
import { join } from 'node:path'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { FILE_MODE, isFull, syncFolder, systemCode, writeAll, type FileSystem } from '../../disk-log/file-system.ts'
import { processFoldersIn } from '../../disk-log/process-folder.ts'

/** The finished reserve. A new process adopts that of a dead one. */
const RESERVE_FILE = 'reserve'
/** A reserve that is still being written. */
const UNFINISHED_RESERVE_FILE = 'reserve.new'
const CHUNK = Buffer.alloc(1024 * 1024)
/** The size of a few events. */
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

  // Node has no posix_fallocate, and extending a file allocates no blocks.
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
    /** Writes the reserve if it is missing. Reports a disk without space for it; rejects for any other error. */
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
        // EFBIG: this process may not write a file that large.
        if (!isFull(error) && systemCode(error) !== 'EFBIG') throw error
        // Use a smaller one, left by a process that met the same full disk.
        isThere = (await sizeOf(fs, path)) > 0
        if (isThere) return
        report(new MessagingWebhooksError('disk_full', 'The reserve could not be written.', { cause: error }))
      }
    },
    /** Whether the folder accepts a few blocks, which are written and removed. Must not run at the same time as `restore`. */
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
    /** Renames the file, to be overwritten in place. Returns whether there was one. */
    async transferTo(to: string): Promise<boolean> {
      if (!isThere) return false
      await fs.rename(path, to)
      isThere = false
      await syncFolder(fs, folder)
      return true
    },
    /** Takes back a reserve that could not be used. Never rejects. */
    async takeBack(from: string): Promise<void> {
      await fs.rename(from, path).then(
        () => (isThere = true),
        () => {},
      )
    },
  }
}

/** Frees a little of a dead process's reserve on a disk too full for a new folder. Returns whether there was one. */
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

/** Adopts the reserve of a dead process if it is larger: a full disk may not have space for another. */
export async function takeReserve(fs: FileSystem, from: string, to: string): Promise<void> {
  const [theirs, ours] = [join(from, RESERVE_FILE), join(to, RESERVE_FILE)]
  if ((await sizeIfKnown(fs, theirs)) > (await sizeIfKnown(fs, ours))) await fs.rename(theirs, ours)
  for (const name of [RESERVE_FILE, UNFINISHED_RESERVE_FILE]) await fs.rm(join(from, name), { force: true })
}

function sizeIfKnown(fs: FileSystem, path: string): Promise<number> {
  return sizeOf(fs, path).catch(() => 0)
}

/** The size of the finished reserve. It gets its name only when it is complete. */
async function sizeOf(fs: FileSystem, path: string): Promise<number> {
  try {
    return (await fs.stat(path)).size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
}
