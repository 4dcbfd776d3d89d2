/** The thread that owns the connection of the local file. It may wait for the disk and for locks without delaying callbacks. */
import { systemClock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { replaceCorrupt } from './corrupt.ts'
import { readPragma } from '../sqlite/connection.ts'
import { OPENED, sendError, type Ports, type Reply, type Request } from '../sqlite/messages.ts'
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

/**
 * Returns when the file cannot be opened, which ends the thread. A file that was removed, replaced or corrupt is reported, and
 * another one gets the calls that are not answered.
 */
export async function serveLocalFile({ requests, replies }: Ports, settings: FileSettings): Promise<void> {
  const send = (reply: Reply): void => replies.postMessage([reply])
  const report = (error: MessagingWebhooksError): void => send({ report: sendError(error) })
  const calls: Waiting = { unanswered: [], answerAll() {} }

  function receive(received: readonly Request[]): void {
    calls.unanswered.push(...received)
    calls.answerAll()
  }

  requests.on('message', receive)
  try {
    for (let isFirst = true; ; isFirst = false) {
      const { change, ...opened } = await openUncorrupted(settings, report)
      const { database } = opened
      send(isFirst ? { number: OPENED, value: change } : { notice: change })
      const end = await serve({ ...opened, send, calls, settings })
      if (end === 'replaced') {
        database.abandon()
        report(fileError('replaced', settings))
      } else {
        database.db.close()
        report(await replaceCorrupt(settings, end))
      }
    }
  } catch (error) {
    requests.off('message', receive)
    send({ number: OPENED, error: sendError(fileError(error, settings)) })
  }
}

async function openUncorrupted(settings: FileSettings, report: (error: MessagingWebhooksError) => void) {
  try {
    return await openAndRead(settings)
  } catch (error) {
    if (!isCorruption(error)) throw error
    report(await replaceCorrupt(settings, error))
    return openAndRead(settings)
  }
}

/** Reads what the other thread must know, which also finds most corruption. */
async function openAndRead(settings: FileSettings) {
  const database = await openLocalDatabase(settings)
  try {
    const tables = createTables(database)
    // First, so that a write of another process between the two is noticed.
    const version = versionOf(database)
    return { database, tables, version, change: changeIn(tables) }
  } catch (error) {
    database.db.close()
    throw fileError(error, settings)
  }
}

function isCorruption(error: unknown): error is MessagingWebhooksError {
  return error instanceof MessagingWebhooksError && error.code === 'spool_damaged'
}

interface Waiting {
  readonly unanswered: Request[]
  /** Without effect while no file is open. */
  answerAll: () => void
}

interface Serving {
  readonly send: (reply: Reply) => void
  readonly calls: Waiting
  readonly database: LocalDatabase
  readonly tables: Calls
  /** The version of the file when it was read. */
  readonly version: number
  readonly settings: FileSettings
}

/** Answers calls until the file is no longer at its path, or is found to be corrupt. */
function serve(serving: Serving): Promise<'replaced' | MessagingWebhooksError> {
  const { send, calls, database, tables, version, settings } = serving

  function answer({ number, call, args }: Request): Reply | MessagingWebhooksError {
    try {
      // The other thread builds each request from the parameters of the call.
      const made = tables[call as CallName] as (...args: readonly unknown[]) => unknown
      return { number, value: made(...args) }
    } catch (given) {
      const error = fileError(given, settings)
      return isCorruption(error) ? error : { number, error: sendError(error) }
    }
  }

  return new Promise((resolve) => {
    function leave(end: 'replaced' | MessagingWebhooksError): void {
      calls.answerAll = () => {}
      resolve(end)
    }

    function answerAll(): void {
      for (let [request] = calls.unanswered; request !== undefined; [request] = calls.unanswered) {
        const reply = answer(request)
        // After the commit: what was written to a file that is gone must not be answered.
        if (database.isReplaced()) {
          leave('replaced')
          return
        }
        if (reply instanceof MessagingWebhooksError) {
          leave(reply)
          return
        }
        calls.unanswered.shift()
        send(reply)
      }
    }
    calls.answerAll = answerAll
    void watch({
      database,
      tables,
      version,
      leave: () => leave('replaced'),
      notify: (change) => send({ notice: change }),
    })
    answerAll()
  })
}

function changeIn(tables: Calls): FileChange {
  return { slots: tables.lastOfSlots(), state: tables.state(), requests: tables.requestTotals() }
}

/** Changes with each write of another connection. */
const versionOf = ({ db }: LocalDatabase): number => readPragma(db, 'data_version')

interface Watching extends Pick<Serving, 'database' | 'tables' | 'version'> {
  readonly leave: () => void
  readonly notify: (change: FileChange) => void
}

/** Polls for writes of other processes, of which SQLite does not notify. */
async function watch({ database, tables, version, leave, notify }: Watching): Promise<void> {
  const { db, isReplaced } = database
  let known = version
  // Closed in the same turn as the file is left, so this never looks at a file that was left.
  while (db.isOpen) {
    try {
      if (isReplaced()) {
        leave()
        return
      }
      const next = versionOf(database)
      if (next !== known) notify(changeIn(tables))
      known = next
    } catch {
      // The disk failed, or another process writes for long. Try again at the next poll; the calls report the error.
    }
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_EVERY_MS))
  }
}
