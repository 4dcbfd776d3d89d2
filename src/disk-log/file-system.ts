/** The interface to the file system, which tests replace with a failing disk, and the machine's own (`nodeFs`), with the lock that proves that the owner of a folder is alive. */
import { lstat, mkdir, open, readdir, rename, rm, rmdir, stat, truncate } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { basename, join } from 'node:path'
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

export const nodeFs: FileSystem = {
  open,
  readdir: (path) => readdir(path),
  async foldersIn(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  },
  mkdir,
  rename,
  rm,
  rmdir: (path) => rmdir(path),
  stat: (path) => stat(path),
  truncate,
  holdLock,
  isHeld,
}

/** Maximum length of a Unix socket's path (104 on macOS, 108 on Linux, including the final NUL). */
const LONGEST_PATH_BYTES = 103

/**
 * Listens on a Unix socket in `folder`. The kernel closes it when the process ends for any reason, and it survives renaming the
 * folder.
 *
 * A pid is not enough: pids are reused, and in two containers that share a volume every process is number 1. A socket file works
 * across containers of one kernel. No lock is safe on a folder shared by several machines, so the folder must be on a local
 * disk. Windows uses a named pipe.
 */
async function holdLock(folder: string): Promise<Lock> {
  const address = await lockAddress(folder)
  const server = createServer((socket) => socket.destroy())
  try {
    await listen(server, address.path)
  } catch (error) {
    await address.forget()
    throw error
  }
  // The lock must not keep the process alive.
  server.unref()
  server.on('error', () => {})
  return {
    async release() {
      await new Promise((resolve) => server.close(resolve))
      await address.forget()
    },
  }
}

/** Whether a live process holds the lock of `folder`. True if unknown. */
async function isHeld(folder: string): Promise<boolean> {
  const address = await lockAddress(folder)
  try {
    return await answers(address.path)
  } finally {
    await address.forget()
  }
}

/**
 * Whether the owner of `folder` is certainly dead: there is a lock, and no process holds it. Without a lock this is unknown,
 * because it may have been removed.
 */
export async function isKnownDead(folder: string): Promise<boolean> {
  if (await isHeld(folder).catch(() => true)) return false
  // A named pipe disappears with its process, and only with it.
  return process.platform === 'win32' || exists(join(folder, LOCK_FILE))
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: for a cluster worker the primary would listen instead, and continue after the worker's death.
    server.listen({ path, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      const code = systemCode(error)
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT')
    })
  })
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

/** A path short enough for a socket. */
async function lockAddress(folder: string): Promise<{ readonly path: string; forget(): Promise<void> }> {
  const path = join(folder, LOCK_FILE)
  if (process.platform === 'win32') {
    // The folder's name is random, so it is unique on the machine.
    return { path: `\\\\.\\pipe\\messaging-webhooks-${basename(folder, '.new')}`, forget: async () => {} }
  }
  if (Buffer.byteLength(path) <= LONGEST_PATH_BYTES) return { path, forget: async () => {} }
  if (process.platform !== 'linux')
    throw new Error(`The path of the lock has ${Buffer.byteLength(path)} bytes; the maximum is ${LONGEST_PATH_BYTES}.`)
  const handle = await open(folder, 'r')
  return { path: `/proc/self/fd/${handle.fd}/${LOCK_FILE}`, forget: () => handle.close() }
}
