/** The tables of the local file in this thread, so that a test decides when each operation ends. */
import { onTestFinished } from 'vitest'
import { createTables, type CallName, type Calls, type FileChange } from '../../src/local-file/serve.ts'
import type { LocalFile } from '../../src/local-file/local-file.ts'
import { createListeners } from '../../src/runtime/listeners.ts'
import { openLocalDatabase } from '../../src/local-file/open.ts'
import { join } from 'node:path'
import { ownFolder } from './own-folder.ts'

const MAX_BYTES = 1024 * 1024 * 1024

interface InProcessFile extends LocalFile {
  /** Reads the table, for assertions. */
  readonly tables: Calls
  /** What the thread does every 100 ms: notices changes by other processes. */
  look(): void
}

/** `before` runs before each operation, and may delay it or make it fail. */
export async function inProcessFile(
  options: { readonly folder?: string; readonly before?: (name: CallName) => Promise<void> | undefined } = {},
): Promise<InProcessFile> {
  const { folder = ownFolder(), before = () => undefined } = options
  const path = join(folder, 'local.db')
  const database = await openLocalDatabase({ path, option: 'test', maxBytes: MAX_BYTES })
  onTestFinished(() => {
    if (database.db.isOpen) database.db.close()
  })
  const tables = createTables(database)
  const changed = createListeners<FileChange>()
  /** The thread does one thing at a time. */
  let last: Promise<unknown> = Promise.resolve()

  async function run(name: CallName, args: readonly unknown[]): Promise<unknown> {
    const wait = before(name)
    if (wait !== undefined) await wait
    const made = tables[name] as (...args: readonly unknown[]) => unknown
    return made(...args)
  }

  function call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    const running = last.then(() => run(name, args))
    last = running.catch(() => {})
    return running
  }

  function look(): void {
    const change = { slots: tables.lastOfSlots().slice(), state: tables.state(), requests: tables.requestTotals() }
    changed.notify(change)
  }

  return {
    path,
    maxBytes: MAX_BYTES,
    tables,
    look,
    exists: () => Promise.resolve(true),
    open() {
      look()
      return Promise.resolve()
    },
    // The answer of the operation with this name.
    call: (name, ...args) => call(name, args) as never,
    callLater: (name, ...args) => call(name, args) as never,
    onChange: changed.add,
    async close() {
      await last
      database.db.close()
    },
  }
}
