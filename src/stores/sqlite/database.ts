/** Opens a database file: settings, transactions, and the meaning of failures. */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MessagingWebhooksError } from '../../public/errors.ts'
import {
  canShare,
  connect,
  createFile,
  resultCode,
  retryWhileBusy,
  setPragma,
  type Connection,
  type Durability,
} from '../../sqlite/connection.ts'
import { checkOurs, migrate } from './migrations.ts'
import { cut, integer } from './encoding.ts'
import { sql } from '../../runtime/sql.ts'

export interface DatabaseOptions {
  readonly path: string
  readonly synchronous: Durability
  readonly busyTimeoutMs: number
  /** Whether several processes may have the file open. Default: what this version of SQLite can. */
  readonly shared?: boolean
}

export type Database = Awaited<ReturnType<typeof openDatabase>>

/** The `nowMs` of transactions without a time from the receiver. */
export const UNTIMED = -Infinity

/** Opens, checks and migrates the file. Throws a `MessagingWebhooksError` (`store_unsupported`, `store_foreign`, ...). */
export function openDatabase(options: DatabaseOptions) {
  return retryWhileBusy(
    options.busyTimeoutMs,
    () => openOnce(options),
    (error) => error instanceof MessagingWebhooksError && error.code === 'store_locked',
  )
}

/** Used only as far as the file is large. */
const CACHE_KIB = 65_536
/** A checkpoint waits for the disk. With SQLite's 1,000 pages the store takes 4 to 8 % fewer events a second. */
const CHECKPOINT_PAGES = 2_000

async function openOnce({ path, synchronous, busyTimeoutMs, shared = canShare() }: DatabaseOptions) {
  const db = await connectTo(path)
  try {
    // Set by PRAGMA, because some Node versions ignore the constructor's option.
    setPragma(db, 'busy_timeout', Math.ceil(busyTimeoutMs))
    // In one transaction: a file that another process has half created would look foreign.
    db.exec(sql`BEGIN`)
    checkOurs(db)
    db.exec(sql`COMMIT`)
    if (!shared) db.exec(sql`PRAGMA locking_mode = EXCLUSIVE`)
    db.exec(sql`PRAGMA journal_mode = WAL`)
    // The index of digests has no locality: with the usual 2 MB, each event of a large file reads pages again.
    setPragma(db, 'cache_size', -CACHE_KIB)
    setPragma(db, 'wal_autocheckpoint', CHECKPOINT_PAGES)
    migrate(db)
  } catch (error) {
    db.close()
    throw asStoreError(error)
  }
  const latestTime = createLatestTime(db)
  const { isReplaced, abandon, transaction: transactionOfFile } = createFile(db, path, synchronous)

  function transaction<T>(durable: boolean, nowMs: number, work: () => T): T {
    try {
      return transactionOfFile(durable, () => {
        latestTime.advance(nowMs)
        return work()
      })
    } catch (error) {
      throw asStoreError(error)
    }
  }

  return {
    db,
    /** The time of the latest transaction before the file was opened, to within a second. */
    latestNowMs: latestTime.atOpening,
    isReplaced,
    abandon,
    /** Like that of the file. Also stores the time. */
    transaction,
    /** Stores an earlier time. Call it once no event waits for the later one. */
    setBack: (nowMs: number): void => transaction(false, UNTIMED, () => latestTime.setBack(nowMs)),
  }
}

async function connectTo(path: string): Promise<Connection> {
  try {
    return await connect(path)
  } catch (error) {
    if (resultCode(error) === undefined)
      throw new MessagingWebhooksError('store_unsupported', `This is Node ${process.versions.node}.`, { cause: error })
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder && existsSync(dirname(path))) throw asStoreError(error)
    throw new MessagingWebhooksError('store_path_invalid', undefined, { cause: error })
  }
}

const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26
/** Codes that may be caused by the data: ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE. */
const OF_THE_DATA = new Set([1, 18, 19, 20, 21, 25])

/**
 * Converts failures of the file or its disk to errors of this package, because no event caused them: a disk that was full for a
 * moment must not turn an event into `unrecognized`. Rethrows all others.
 */
export function asStoreError(error: unknown): unknown {
  const code = resultCode(error)
  if (code === undefined || OF_THE_DATA.has(code)) return error
  if (code === SQLITE_BUSY) return new MessagingWebhooksError('store_locked', undefined, { cause: error })
  if (code === SQLITE_NOTADB) return new MessagingWebhooksError('store_foreign', undefined, { cause: error })
  // SQLite's own text, such as "database or disk is full". It contains neither a path nor a value.
  return new MessagingWebhooksError('store_failed', error instanceof Error ? error.message : undefined, {
    cause: error,
  })
}

/** Limits the writes of the time, each of which adds a page to a transaction. */
const ADVANCE_EVERY_MS = 1_000
/** The year 2100. A later time is corrupt, and would expire everything. */
const LATEST_MS = 4_102_444_800_000

/**
 * Stores the current time for the next start: the machine's clock may be set back before then, so that events wait, or be far
 * ahead, so that retention must not trust it.
 */
function createLatestTime(db: Connection) {
  const find = db.prepare(sql`SELECT ${cut(sql`at`)} AS at FROM latest_time`)
  const update = db.prepare(sql`UPDATE latest_time SET at = ?`)
  const insert = db.prepare(sql`INSERT INTO latest_time VALUES (?)`)
  const atOpening = read()
  let last = atOpening

  function write(latestMs: number): void {
    // The row may have been deleted.
    if (update.run(latestMs).changes === 0) insert.run(latestMs)
  }

  function read(): number {
    const row = find.get()
    const atMs = row === undefined ? 0 : integer(row, 'at')
    return atMs > LATEST_MS ? 0 : atMs
  }

  return {
    /** The time that was stored before the file was opened. */
    atOpening: atOpening === 0 ? undefined : atOpening,
    /** Called in every transaction that writes. */
    advance(nowMs: number): void {
      if (nowMs < last + ADVANCE_EVERY_MS) return
      // Another process may have stored a later time.
      write(Math.floor(Math.max(nowMs, read())))
      last = nowMs
    },
    /** Replaces a later time. Otherwise a second start with a clock that is as far ahead would be trusted. */
    setBack(nowMs: number): void {
      write(Math.floor(nowMs))
      last = nowMs
    },
  }
}
