/** One file of records: its name, and appends to it. */
import { join } from 'node:path'
import { FILE_MODE, isFull, syncFolder, writeAll, type FileSystem, type OpenedFile } from './file-system.ts'
import { HEADER_BYTES, type RecordKind } from './record.ts'

/** The sequence number, the salt of the checksums, and the extension, which separates logs. */
const NAME = /^(\d{8,})-([0-9a-f]{8})\.[a-z]+$/

export interface LogFileName {
  readonly number: number
  readonly salt: number
}

export interface LogKind<T> extends RecordKind<T> {
  /** Extension of the files. */
  readonly extension: string
  /** Whether an append waits for the disk. */
  readonly synced: boolean
}

export type LogFile = Readonly<ReturnType<typeof logFile>>

const ZEROS = Buffer.alloc(64 * 1024)

export function logFileName({ number, salt }: LogFileName, extension: string): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.${extension}`
}

export function parseLogFileName(name: string, extension: string): LogFileName | undefined {
  const [, number, salt] = NAME.exec(name) ?? []
  if (number === undefined || salt === undefined) return undefined
  const parsed = { number: Number(number), salt: parseInt(salt, 16) }
  // Reject other spellings of the number, and numbers too large to be exact: no file would be found under them.
  return logFileName(parsed, extension) === name ? parsed : undefined
}

/** Creates the file. If its log is synced, makes its name durable. */
export async function createLogFile<T>(
  fs: FileSystem,
  folder: string,
  name: LogFileName,
  { extension, synced }: LogKind<T>,
): Promise<LogFile> {
  const path = join(folder, logFileName(name, extension))
  const file = await fs.open(path, 'wx', FILE_MODE)
  try {
    if (synced) await syncFolder(fs, folder)
  } catch (error) {
    await file.close()
    await fs.rm(path, { force: true })
    throw error
  }
  return logFile(file, { path, salt: name.salt, end: 0 }, synced)
}

interface Located {
  readonly path: string
  readonly salt: number
  /** The end of the records. */
  readonly end: number
}

/** Locates a file that another process left. */
export async function findLogFile<T>(
  fs: FileSystem,
  folder: string,
  name: LogFileName,
  { extension }: LogKind<T>,
): Promise<Located> {
  const path = join(folder, logFileName(name, extension))
  const { size: end } = await fs.stat(path)
  return { path, salt: name.salt, end }
}

/** Opens an existing file, to be written from `end` on. */
export async function openLogFile<T>(fs: FileSystem, found: Located, { synced }: LogKind<T>): Promise<LogFile> {
  return logFile(await fs.open(found.path, 'r+'), found, synced)
}

function logFile(file: OpenedFile, { path, salt, end: start }: Located, synced: boolean) {
  let end = start
  let usable = true

  async function cutBack(): Promise<boolean> {
    try {
      await file.truncate(end)
      return true
    } catch {
      return false
    }
  }

  /** Rejects if the file was removed or, for a synced log, the bytes are not on the disk. */
  async function settle(): Promise<void> {
    if (synced) await file.datasync()
    const { nlink } = await file.stat()
    if (nlink === 0) throw new Error('The file was removed while it was open.')
  }

  return {
    path,
    salt,
    /** The end of the records. */
    get end(): number {
      return end
    },
    /** Whether the file accepts appends: nothing follows its records, and no write has failed. */
    get usable(): boolean {
      return usable
    },
    /** Appends all bytes. If it rejects, none of them count. */
    async append(bytes: Buffer): Promise<void> {
      try {
        await writeAll(file, bytes, end)
      } catch (error) {
        // A full disk does not harm the file. Any other error might.
        usable = (await cutBack()) && isFull(error)
        throw error
      }
      try {
        await settle()
      } catch (error) {
        // The system may drop the pages and forget the failure, so a second sync would succeed wrongly.
        usable = false
        throw error
      }
      end += bytes.length
    },
    /** Overwrites the payload of the record at this position with zeros. */
    async erase(at: number, length: number): Promise<void> {
      for (let from = at + HEADER_BYTES; from < at + length; from += ZEROS.length)
        await writeAll(file, ZEROS.subarray(0, Math.min(ZEROS.length, at + length - from)), from)
    },
    close: () => file.close(),
  }
}
