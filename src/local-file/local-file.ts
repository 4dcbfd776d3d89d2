/**
 * The local file of a receiver: one SQLite file for the spool and the quarantine, shared by the processes of a machine. A thread
 * of its own owns the connection, so that a store that waits for a lock does not block the spool.
 */
import { closeSync, constants, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { MessagingWebhooksError } from '../public/errors.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Thread } from '../sqlite/thread.ts'
import { fileError } from './file-error.ts'
import type { CallName, Calls, FileChange } from './serve.ts'

/** The name of the file in its folder. */
const FILE_NAME = 'local.db'
const FOLDER_MODE = 0o700
const MAX_BYTES = 1024 * 1024 * 1024

export interface LocalFile {
  /** For messages. */
  readonly path: string
  /** Maximum size. Appends to the spool beyond it are rejected. */
  readonly maxBytes: number
  /** Whether there is a file. */
  exists(): Promise<boolean>
  /**
   * Checks that the folder can be used, creates it, and opens the file if an earlier process has left it. Without a file, the
   * thread starts with the first call, or when another process creates the file. Rejects with a `MessagingWebhooksError`; the
   * next call tries again.
   */
  open(): Promise<void>
  /** Runs one operation. Creates the file if necessary. */
  call<Name extends CallName>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>>
  /** Like `call`, for what no caller waits for: one at a time, and only while no other call runs. */
  callLater<Name extends CallName>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>>
  /** Calls the listener when the file is open, and when another process has changed it. */
  onChange(listener: (change: FileChange) => void): void
  /** Waits for earlier calls. */
  close(): Promise<void>
}

interface LocalFileOptions {
  readonly folder: string
  /** The option that names the folder, for messages. */
  readonly option: string
  readonly report: (error: MessagingWebhooksError) => void
  /** Default 1 GiB. */
  readonly maxBytes?: number | undefined
}

/** How often to look whether another process has created the file. */
const LOOK_EVERY_MS = 100

export function createLocalFile({ folder, option, report, maxBytes = MAX_BYTES }: LocalFileOptions): LocalFile {
  const path = join(resolve(folder), FILE_NAME)
  const settings = { path, option, maxBytes }
  const clock = systemClock()
  const listeners: ((change: FileChange) => void)[] = []
  let thread: Promise<Thread> | undefined
  let cancelLook = (): void => {}
  let isClosed = false
  let underWay = 0
  /** Resolved in turn when no other call runs. */
  const later: (() => void)[] = []

  function changed(change: FileChange): void {
    for (const listener of listeners) listener(change)
  }

  async function start(): Promise<Thread> {
    cancelLook()
    makeFolder(dirname(path))
    // Loads nothing of SQLite before it is needed.
    const { startThread } = await import('../sqlite/thread.ts')
    const started = startThread({
      serves: 'localFile',
      settings,
      // The only notice of the thread.
      onNotice: (notice) => changed(notice as FileChange),
      report,
    })
    changed((await started.opened) as FileChange)
    return started
  }

  async function running(): Promise<Thread> {
    if (isClosed) throw new MessagingWebhooksError('receiver_closed')
    const before = thread
    const current = await before
    if (current?.isAlive === true) return current
    // A thread may also end unexpectedly, for example out of memory.
    if (thread !== before) return running()
    const starting = start()
    thread = starting
    try {
      return await starting
    } catch (error) {
      thread = undefined
      look()
      throw fileError(error, settings)
    }
  }

  /** Opens the file when another process creates it. */
  function look(): void {
    if (isClosed) return
    cancelLook = clock.setTimer(() => void lookNow(), LOOK_EVERY_MS)
  }

  async function lookNow(): Promise<void> {
    if (thread !== undefined || isClosed) return
    if (await exists(path)) await running().catch(() => {})
    else look()
  }

  async function call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    underWay += 1
    try {
      return await (await running()).ask(name, args)
    } catch (error) {
      const isGone = error instanceof MessagingWebhooksError && error.code === 'spool_replaced'
      if (!isGone) throw error
      report(error)
      return await (await running()).ask(name, args)
    } finally {
      underWay -= 1
      if (underWay === 0) later.shift()?.()
    }
  }

  return {
    path,
    maxBytes,
    exists: () => exists(path),
    async open() {
      try {
        if (!isBuiltin('node:sqlite')) throw fileError('unsupported', settings)
        const { workerFile } = await import('../sqlite/thread.ts')
        workerFile()
        makeFolder(dirname(path))
        await access(dirname(path), constants.W_OK)
      } catch (error) {
        throw fileError(error, settings)
      }
      if (await exists(path)) await running()
      else look()
    },
    call: (name, ...args) => call(name, args) as never,
    async callLater(name, ...args) {
      while (underWay > 0) await new Promise<void>((resume) => later.push(resume))
      return (await call(name, args)) as never
    },
    onChange(listener) {
      listeners.push(listener)
    },
    async close() {
      isClosed = true
      cancelLook()
      const current = await thread?.catch(() => undefined)
      if (current === undefined) return
      // After the calls that were made before.
      await current.ask('close', []).catch(() => {})
      await current.end()
    },
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** Creates a folder and its parents durably. */
function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: FOLDER_MODE })
  // Windows cannot open a folder as a file. NTFS journals its entries.
  if (first === undefined || process.platform === 'win32') return
  const top = dirname(resolve(first))
  for (let folder = path; folder !== top;) {
    folder = dirname(folder)
    const opened = openSync(folder, 'r')
    try {
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
  }
}
