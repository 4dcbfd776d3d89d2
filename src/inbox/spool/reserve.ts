/**
 * Room on the disk that was taken beforehand, as blocks of zeros, for the time when the disk is full. A file system that
 * compresses, or copies on write, may keep less than that.
 */
import { join } from 'node:path'
import { MessagingWebhooksError } from '../../errors.ts'
import { FILE_MODE, isFull, syncFolder, systemCode, writeAll, type FileSystem } from '../../process-folder/files.ts'

/** The finished reserve; what a dead process left of it is taken over. */
export const RESERVE_FILE = 'reserve'
/** One that is still being written. */
export const UNFINISHED_RESERVE_FILE = 'reserve.new'
const CHUNK = Buffer.alloc(1024 * 1024)

export interface Reserve {
  /** Sets it aside where it is missing. A disk without room for it is reported; anything else rejects. */
  restore(): Promise<void>
  /** Gives the file away under another name, to be written over in place; says whether there was one. */
  handOver(path: string): Promise<boolean>
  /** Takes it back, where it was given away and could not be used. Never rejects. */
  takeBack(path: string): Promise<void>
}

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
}): Reserve {
  const path = join(folder, RESERVE_FILE)
  const unfinished = join(folder, UNFINISHED_RESERVE_FILE)
  let isThere = false

  // Node has no posix_fallocate, and a file that is merely made longer has no blocks.
  async function writeZeros(): Promise<void> {
    const file = await fs.open(unfinished, 'wx', FILE_MODE)
    try {
      for (let at = 0; at < bytes; at += CHUNK.length)
        await writeAll(file, CHUNK.subarray(0, Math.min(CHUNK.length, bytes - at)), at)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  return {
    async restore() {
      if (bytes === 0 || isThere) return
      try {
        if ((await sizeOf(fs, path)) < bytes) {
          await fs.rm(unfinished, { force: true })
          await writeZeros()
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
    async handOver(to) {
      if (!isThere) return false
      await fs.rename(path, to)
      isThere = false
      await syncFolder(fs, folder)
      return true
    },
    async takeBack(from) {
      await fs.rename(from, path).then(
        () => (isThere = true),
        () => {},
      )
    },
  }
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
