/** What we ask of a file system: node:fs/promises, through the one seam that its tests replace. */
import { open } from 'node:fs/promises'

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

export interface FileSystem {
  open(path: string, flags: 'r' | 'r+' | 'wx', mode?: number): Promise<OpenedFile>
}

export const nodeFs: FileSystem = { open }

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
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The disk, or the user's share of it, is full. */
export function isFull(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT'
}
