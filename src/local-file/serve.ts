/** The thread that owns the connection of the local file. It may wait for the disk and for locks without delaying callbacks. */
import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { OPENED, sendError, type Reply, type Request } from '../sqlite/messages.ts'
import { fileError } from './file-error.ts'
import { openLocalDatabase, type FileSettings, type LocalDatabase } from './open.ts'
import { createRequestTable, type RequestTotals } from './request-table.ts'
import { createSpoolTable, type SpoolState } from './spool-table.ts'

/** The operations on the file. Each is one transaction. */
export function createTables(database: LocalDatabase) {
  return { ...createSpoolTable(database), ...createRequestTable(database), close: () => database.db.close() }
}

export type Calls = ReturnType<typeof createTables>
export type CallName = keyof Calls

/** What the thread notifies of: another process has changed the file. */
export interface FileChange {
  readonly requests: RequestTotals
  readonly state: SpoolState
  /** For each slot the id of its last event. */
  readonly slots: Float64Array
}

/** The longest delay until events that another process spooled are noticed here. */
const LOOK_EVERY_MS = 100

/** Ends with an error when the file cannot be opened, or is no longer at its path. The next call starts another thread. */
export async function serveLocalFile(port: MessagePort, settings: FileSettings): Promise<void> {
  const send = (reply: Reply): void => port.postMessage([reply])
  try {
    const database = await openLocalDatabase(settings)
    const tables = createTables(database)
    send({ number: OPENED, value: changeIn(tables) })
    await serve(port, send, { database, tables, settings })
    database.abandon()
    throw fileError('replaced', settings)
  } catch (error) {
    send({ number: OPENED, error: sendError(fileError(error, settings)) })
  }
}

interface Serving {
  readonly database: LocalDatabase
  readonly tables: Calls
  readonly settings: FileSettings
}

/** Answers calls until the file is no longer at its path. */
function serve(
  port: MessagePort,
  send: (reply: Reply) => void,
  { database, tables, settings }: Serving,
): Promise<void> {
  return new Promise((resolve) => {
    function answer({ number, call, args }: Request): Reply {
      try {
        // The other thread builds each request from the parameters of the call.
        const made = tables[call as CallName] as (...args: readonly unknown[]) => unknown
        return { number, value: made(...args) }
      } catch (error) {
        return { number, error: sendError(fileError(error, settings)) }
      }
    }

    function leave(): void {
      port.off('message', receive)
      resolve()
    }

    function receive(requests: readonly Request[]): void {
      for (const request of requests) {
        const reply = answer(request)
        // After the commit: what was written to a file that is gone must not be answered.
        if (database.isReplaced()) {
          leave()
          return
        }
        send(reply)
      }
    }

    port.on('message', receive)
    void watch({ database, tables, leave, notify: (change) => send({ notice: change }) })
  })
}

function changeIn(tables: Calls): FileChange {
  return { slots: tables.lastOfSlots(), state: tables.state(), requests: tables.requestTotals() }
}

interface Watching extends Pick<Serving, 'database' | 'tables'> {
  readonly leave: () => void
  readonly notify: (change: FileChange) => void
}

/** Polls for writes of other processes, of which SQLite does not notify. */
async function watch({ database, tables, leave, notify }: Watching): Promise<void> {
  const { db, isReplaced } = database
  const readVersion = db.prepare('PRAGMA data_version')
  let known = readVersion.get()?.['data_version']
  while (db.isOpen) {
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_EVERY_MS))
    try {
      if (isReplaced()) {
        leave()
        return
      }
      const version = readVersion.get()?.['data_version']
      if (version !== known) notify(changeIn(tables))
      known = version
    } catch {
      // The disk failed, or another process writes for long. Try again at the next poll; the calls report the error.
    }
  }
}
