/** The folder of one worker beside the database, with a lock that proves that its process is alive. */
import { randomBytes } from 'node:crypto'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { basename, join } from 'node:path'
import { systemCode } from '../../runtime/values.ts'

/** Starts with the version of the format. */
const NAME = /^v1-[0-9a-f]{12}$/
/** Name of the lock's file, which exists while the lock is held or abandoned. */
export const LOCK_FILE = 'lock'
const FOLDER_MODE = 0o700

export function isWorkerFolder(name: string): boolean {
  return NAME.test(name)
}

/**
 * Creates a folder for this process. The folder gets its name after its lock is held: a folder with such a name and no held lock
 * belongs to a dead process.
 */
export async function makeWorkerFolder(parent: string) {
  await mkdir(parent, { recursive: true, mode: FOLDER_MODE })
  const name = `v1-${randomBytes(6).toString('hex')}`
  const folder = join(parent, name)
  const unfinished = `${folder}.new`
  await mkdir(unfinished, { mode: FOLDER_MODE })
  try {
    const release = await holdLock(unfinished)
    try {
      await rename(unfinished, folder)
    } catch (error) {
      await release()
      throw error
    }
    return {
      name,
      /** Removes it. */
      async end(): Promise<void> {
        await release()
        await rm(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
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
async function holdLock(folder: string): Promise<() => Promise<void>> {
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
  return async () => {
    await new Promise((resolve) => server.close(resolve))
    await address.forget()
  }
}

/** Whether a live process holds the lock of `folder`. True if unknown. */
export async function isHeld(folder: string): Promise<boolean> {
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
