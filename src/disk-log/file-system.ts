/** The interface to the file system, which tests replace with a failing disk. `nodeFs` is the real one. */
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
  /** Waits until the bytes, and the size needed to find them, are on the disk. */
  datasync(): Promise<void>
  sync(): Promise<void>
  stat(): Promise<{ readonly size: number; readonly nlink: number }>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** Name of the lock's file, which exists while the lock is held or abandoned. */
export const LOCK_FILE = 'lock'

/** Proves that a process is alive while held. */
export interface Lock {
  release(): Promise<void>
}

/** Like node:fs/promises, with the system's error codes. */
export interface FileSystem {
  open(path: string, flags: 'r' | 'r+' | 'wx', mode?: number): Promise<OpenedFile>
  readdir(path: string): Promise<readonly string[]>
  /** The names of entries that are folders. */
  foldersIn(path: string): Promise<readonly string[]>
  /** With `recursive`, resolves to the first folder that was missing. */
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode: number }): Promise<string | undefined>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true; readonly recursive?: boolean }): Promise<void>
  rmdir(path: string): Promise<void>
  stat(path: string): Promise<{ readonly size: number }>
  truncate(path: string, length: number): Promise<void>
  /** Locks a folder. The lock survives renaming the folder, and ends with the process. */
  holdLock(folder: string): Promise<Lock>
  /** Whether a live process holds the lock of a folder. True if unknown. */
  isHeld(folder: string): Promise<boolean>
}

/** Other users of the machine must not read payloads. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

/** Writes all bytes at `position`. A disk that fills up first accepts a part, and fails only on the next call. */
export async function writeAll(file: OpenedFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new Error('The file accepts no more bytes, for an unknown reason.')
    done += bytesWritten
  }
}

/** Makes created, renamed and removed entries of a folder survive a power failure. */
export async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  // Windows cannot open a folder as a file. NTFS journals its entries.
  if (process.platform === 'win32') return
  const folder = await fs.open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The system's error code, for example ENOSPC. */
export function systemCode(error: unknown): string | undefined {
  return isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Whether the disk or the user's quota is full. */
export function isFull(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}
