/** The machine's own file system, and the lock that says whether the process is alive that owns a folder. */
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

/** Where a Unix socket's path must end (104 on macOS, 108 on Linux, the closing NUL included). */
const LONGEST_PATH_BYTES = 103

/**
 * Listens on a Unix socket in `folder`, which the kernel shuts when the process ends, however it ends. It stays held when
 * the folder is renamed.
 *
 * Why not a pid: it is used again, and in two containers that share a volume every process is number 1, alive here and
 * unknown there. A socket file works across containers of one kernel; no lock is safe on a folder that several machines
 * share, so it must be on a local disk. On Windows a named pipe does the same.
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
  // It must not keep the process alive.
  server.unref()
  server.on('error', () => {})
  return {
    async release() {
      await new Promise((resolve) => server.close(resolve))
      await address.forget()
    },
  }
}

/** Whether a living process holds the lock of `folder`; yes where it cannot be told. */
async function isHeld(folder: string): Promise<boolean> {
  const address = await lockAddress(folder)
  try {
    return await answers(address.path)
  } finally {
    await address.forget()
  }
}

/**
 * Whether the owner of `folder` is dead for certain: its lock stands there, and nobody holds it. Of a folder without a
 * lock this cannot be said, for somebody may have removed it.
 */
export async function isKnownDead(folder: string): Promise<boolean> {
  if (await isHeld(folder).catch(() => true)) return false
  // A named pipe is gone with its process, and nobody else can remove it.
  return process.platform === 'win32' || exists(join(folder, LOCK_FILE))
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: in a cluster worker the primary would listen instead, and go on when the worker has died.
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

/** A path that is short enough for a socket. */
async function lockAddress(folder: string): Promise<{ readonly path: string; forget(): Promise<void> }> {
  const path = join(folder, LOCK_FILE)
  if (process.platform === 'win32') {
    // The folder's name is random, so it is the only one of that name on the machine.
    return { path: `\\\\.\\pipe\\messaging-webhooks-${basename(folder, '.new')}`, forget: async () => {} }
  }
  if (Buffer.byteLength(path) <= LONGEST_PATH_BYTES) return { path, forget: async () => {} }
  if (process.platform !== 'linux')
    throw new Error(`The path of the lock has ${Buffer.byteLength(path)} bytes; at most ${LONGEST_PATH_BYTES} work.`)
  const handle = await open(folder, 'r')
  return { path: `/proc/self/fd/${handle.fd}/${LOCK_FILE}`, forget: () => handle.close() }
}
