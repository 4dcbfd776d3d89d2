/**
 * The local file of a receiver: one SQLite file for the spool and the quarantine, shared by the processes of a machine. A thread
 * of its own owns the connection, so that a store that waits for a lock does not block the spool.
 */
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MessagingWebhooksError } from '../public/errors.ts'
import { systemClock } from '../runtime/clock.ts'
import { createListeners } from '../runtime/listeners.ts'
import { canShare } from '../sqlite/connection.ts'
import { resolvedPath } from '../sqlite/resolved-path.ts'
import type { Thread } from '../sqlite/thread.ts'
import { fileError } from './file-error.ts'
import { makeFolder } from './folder.ts'
import type { CallName, Calls, FileChange } from './serve.ts'

/** The name of the file in its folder. */
const FILE_NAME = 'local.db'
const MAX_BYTES = 1024 * 1024 * 1024

export interface LocalFile {
  /** For messages. */
  readonly path: string
  /** Maximum size. Appends to the spool beyond it are rejected. */
  readonly maxBytes: number
  /** Whether there is a file. */
  exists(): Promise<boolean>
  /**
   * Creates the folder and the file, and opens it. Rejects with a `MessagingWebhooksError`, and then tries again with the next
   * call, or after some seconds.
   */
  open(): Promise<void>
  /** Runs one operation, after those called before. Opens the file if necessary. */
  call<Name extends CallName>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>>
  /** Like `call`, for what no caller waits for: one at a time, and only while no other call runs. */
  callLater<Name extends CallName>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>>
  /** Calls the listener when the file is open, and when another process has changed it, until the returned function is called. */
  onChange(listener: (change: FileChange) => void): () => void
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

/** Events of an earlier process may wait in a file that could not be opened, for example on a full disk. */
const OPEN_AGAIN_MS = 5_000

export function createLocalFile({ folder, option, report, maxBytes = MAX_BYTES }: LocalFileOptions): LocalFile {
  const path = join(resolvedPath(folder), FILE_NAME)
  const settings = { path, option, maxBytes, shared: canShare() }
  const changed = createListeners<FileChange>()
  let thread: Promise<Thread> | undefined
  let cancelOpening = (): void => {}
  let isClosed = false
  let underWay = 0
  /** Resolved in turn when no other call runs. */
  const later: (() => void)[] = []

  async function start(): Promise<Thread> {
    cancelOpening()
    // A path that cannot be used must not cost a thread for each callback.
    makeFolder(dirname(path))
    // Loads nothing of SQLite where there is no local file.
    const { startThread } = await import('../sqlite/thread.ts')
    const started = startThread({
      serves: 'localFile',
      settings,
      // The only notice of the thread.
      onNotice: (notice) => changed.notify(notice as FileChange),
      report,
    })
    changed.notify((await started.opened) as FileChange)
    return started
  }

  function openLater(): void {
    if (!isClosed) cancelOpening = systemClock().setTimer(() => void running().catch(() => {}), OPEN_AGAIN_MS)
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
      openLater()
      throw fileError(error, settings)
    }
  }

  async function call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    underWay += 1
    try {
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
      await running()
    },
    call: (name, ...args) => call(name, args) as never,
    async callLater(name, ...args) {
      while (underWay > 0) await new Promise<void>((resume) => later.push(resume))
      return (await call(name, args)) as never
    },
    onChange: changed.add,
    async close() {
      isClosed = true
      cancelOpening()
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
