/** The machine's file system, and the lock that proves that the owner of a folder is alive. */
import { lstat, mkdir, open, readdir, rename, rm, rmdir, stat, truncate } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { basename, join } from 'node:path'
import { LOCK_FILE, systemCode, type FileSystem, type Lock } from './file-system.ts'

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
