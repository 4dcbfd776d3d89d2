/** One file of records: its name, and how it is appended to. */
import { join } from 'node:path'
import { FILE_MODE, isFull, syncFolder, writeAll, type FileSystem, type OpenedFile } from './file-system.ts'
import { HEADER_BYTES, type RecordKind } from './record.ts'

/** A number for the order, the salt of its checksums, and what tells the files of one log from those of another. */
const NAME = /^(\d{8,})-([0-9a-f]{8})\.[a-z]+$/

export interface LogFileName {
  readonly number: number
  readonly salt: number
}

export interface LogKind<T> extends RecordKind<T> {
  /** Of its files' names. */
  readonly extension: string
  /** Whether an append waits until the disk has it. */
  readonly synced: boolean
}

export interface LogFile {
  readonly path: string
  readonly salt: number
  /** Where its records end. */
  readonly end: number
  /** Whether it can be appended to: nothing stands behind its records, and it never failed to reach the disk. */
  readonly usable: boolean
  read: OpenedFile['read']
  /** Appends all of the bytes; where it rejects, none of them count. */
  append(bytes: Buffer): Promise<void>
  /** Writes zeros over the payload of the record that lies there. */
  erase(at: number, length: number): Promise<void>
  close(): Promise<void>
}

const ZEROS = Buffer.alloc(64 * 1024)

export function logFileName({ number, salt }: LogFileName, extension: string): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.${extension}`
}

export function parseLogFileName(name: string, extension: string): LogFileName | undefined {
  const [, number, salt] = NAME.exec(name) ?? []
  if (number === undefined || salt === undefined) return undefined
  const parsed = { number: Number(number), salt: parseInt(salt, 16) }
  // Another spelling of the number, or one that is too large to be told from the next, would be looked for in vain.
  return logFileName(parsed, extension) === name ? parsed : undefined
}

/** Creates the file, and where its log is synced makes sure that it is found again. */
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
  return logFile(file, { path, salt: name.salt, end: 0, synced })
}

/** A file that a process left: where it is, and where it ends. */
export async function findLogFile<T>(
  fs: FileSystem,
  folder: string,
  name: LogFileName,
  { extension }: LogKind<T>,
): Promise<Pick<LogFile, 'path' | 'salt' | 'end'>> {
  const path = join(folder, logFileName(name, extension))
  const { size: end } = await fs.stat(path)
  return { path, salt: name.salt, end }
}

/** Opens a file that is there, to be written to from `end` on. */
export async function openLogFile<T>(
  fs: FileSystem,
  path: string,
  { salt, end }: { readonly salt: number; readonly end: number },
  { synced }: LogKind<T>,
): Promise<LogFile> {
  return logFile(await fs.open(path, 'r+'), { path, salt, end, synced })
}

function logFile(
  file: OpenedFile,
  start: { readonly path: string; readonly salt: number; readonly end: number; readonly synced: boolean },
): LogFile {
  const { path, salt, synced } = start
  let { end } = start
  let usable = true

  async function cutBack(): Promise<boolean> {
    try {
      await file.truncate(end)
      return true
    } catch {
      return false
    }
  }

  /** Rejects where the bytes are not under the name that they will be looked for or, where it matters, not on the disk. */
  async function settle(): Promise<void> {
    if (synced) await file.datasync()
    const { nlink } = await file.stat()
    if (nlink === 0) throw new Error('The file was removed while it was open.')
  }

  return {
    path,
    salt,
    get end() {
      return end
    },
    get usable() {
      return usable
    },
    read: (buffer, offset, length, position) => file.read(buffer, offset, length, position),
    async append(bytes) {
      try {
        await writeAll(file, bytes, end)
      } catch (error) {
        // A full disk says nothing against the file; any other failure does.
        usable = (await cutBack()) && isFull(error)
        throw error
      }
      try {
        await settle()
      } catch (error) {
        // The system may have dropped the pages and forget the failure, so that a second call would succeed.
        usable = false
        throw error
      }
      end += bytes.length
    },
    async erase(at, length) {
      for (let from = at + HEADER_BYTES; from < at + length; from += ZEROS.length)
        await writeAll(file, ZEROS.subarray(0, Math.min(ZEROS.length, at + length - from)), from)
    },
    close: () => file.close(),
  }
}
