/** What we ask of a file system: the one seam, behind which tests put a disk that fails. `nodeFs` is the real one. */
import { isError } from '../runtime/values.ts'

/** The methods of a `FileHandle` that are used. */
export interface OpenedFile {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>
  /** Waits until the bytes, and the size that it takes to find them, are on the disk. */
  datasync(): Promise<void>
  sync(): Promise<void>
  stat(): Promise<{ readonly size: number; readonly nlink: number }>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** Stands in a folder whose lock is held, or was. */
export const LOCK_FILE = 'lock'

/** Says that a process is alive, for as long as it is. */
export interface Lock {
  release(): Promise<void>
}

/** As in node:fs/promises, whose errors carry the system's names. */
export interface FileSystem {
  open(path: string, flags: 'r' | 'r+' | 'wx', mode?: number): Promise<OpenedFile>
  readdir(path: string): Promise<readonly string[]>
  /** The names of the entries that are folders themselves. */
  foldersIn(path: string): Promise<readonly string[]>
  /** Resolves to the first folder that was missing, where it is `recursive`. */
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode: number }): Promise<string | undefined>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true; readonly recursive?: boolean }): Promise<void>
  rmdir(path: string): Promise<void>
  stat(path: string): Promise<{ readonly size: number }>
  truncate(path: string, length: number): Promise<void>
  /** Holds the lock of a folder. It stays held when the folder is renamed, and ends with the process. */
  holdLock(folder: string): Promise<Lock>
  /** Whether a living process holds the lock of a folder; yes where it cannot be told. */
  isHeld(folder: string): Promise<boolean>
}

/** Payloads are for nobody else on the machine. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

/** Writes all of it at `position`: a disk that fills up takes a part first, and fails only at the next call. */
export async function writeAll(file: OpenedFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new Error('The file takes no more bytes, and does not say why.')
    done += bytesWritten
  }
}

/** Makes created, renamed and removed entries of a folder survive a power failure. */
export async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  // Windows opens no folder as a file; NTFS journals its entries.
  if (process.platform === 'win32') return
  const folder = await fs.open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The system's name of an error, such as ENOSPC. */
export function systemCode(error: unknown): string | undefined {
  return isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The disk, or the user's share of it, is full. */
export function isFull(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}
