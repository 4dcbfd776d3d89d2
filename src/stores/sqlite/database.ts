/** Opens a database file: settings, transactions, and the meaning of failures. */
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { checkOurs, migrate } from './migrations.ts'
import { cut, integer } from './encoding.ts'

export interface DatabaseOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL' | 'OFF'
  readonly busyTimeoutMs: number
}

export type Database = Awaited<ReturnType<typeof openDatabase>>

/** The `nowMs` of transactions without a time from the receiver. */
export const UNTIMED = -Infinity

/** Pause after SQLite returned "busy" without waiting. */
const OPEN_AGAIN_MS = 20

/** Opens, checks and migrates the file. Throws a `MessagingWebhooksError` (`store_unsupported`, `store_foreign`, ...). */
export async function openDatabase(options: DatabaseOptions) {
  const clock = systemClock()
  const untilMs = clock.now() + options.busyTimeoutMs
  for (;;) {
    try {
      return await openOnce(options)
    } catch (error) {
      // The switch to WAL ignores busy_timeout (measured): if two processes create a file at once, one gets "busy".
      const isBusy = error instanceof MessagingWebhooksError && error.code === 'store_locked'
      if (!isBusy || clock.now() >= untilMs) throw error
    }
    await new Promise<void>((resolve) => clock.setTimer(resolve, OPEN_AGAIN_MS, true))
  }
}

/** Used only as far as the file is large. */
const CACHE_KIB = 65_536
/** A checkpoint waits for the disk. With SQLite's 1,000 pages the store takes 4 to 8 % fewer events a second. */
const CHECKPOINT_PAGES = 2_000

async function openOnce({ path, synchronous, busyTimeoutMs }: DatabaseOptions) {
  const db = await connect(path)
  try {
    // Set by PRAGMA, because some Node versions ignore the constructor's option.
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    // In one transaction: a file that another process has half created would look foreign.
    db.exec('BEGIN')
    checkOurs(db)
    db.exec('COMMIT')
    if (!canShare(process.versions['sqlite'] ?? '0')) db.exec('PRAGMA locking_mode = EXCLUSIVE')
    db.exec('PRAGMA journal_mode = WAL')
    // The index of digests has no locality: with the usual 2 MB, each event of a large file reads pages again.
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    migrate(db)
  } catch (error) {
    db.close()
    throw asOurs(error)
  }
  const latestTime = createLatestTime(db)
  const identity = identityOf(path)
  const companions = [`${path}-wal`, `${path}-shm`].map((name) => ({ name, identity: identityOf(name) }))
  let level: string | undefined
  /** Node 22.13 lacks `db.isTransaction`. */
  let inTransaction = false

  function begin(durable: boolean): void {
    const wanted = durable ? synchronous : synchronous === 'OFF' ? 'OFF' : 'NORMAL'
    if (wanted !== level) db.exec(`PRAGMA synchronous = ${wanted}`)
    level = wanted
    db.exec('BEGIN IMMEDIATE')
    inTransaction = true
  }

  function rollBack(): void {
    try {
      db.exec('ROLLBACK')
    } catch {
      // No transaction was open, or a failure such as a full disk has rolled it back already.
    }
  }

  function advanceAndRun<T>(nowMs: number, work: () => T): T {
    latestTime.advance(nowMs)
    return work()
  }

  return {
    db,
    /** The time of the latest transaction before the file was opened, to within a second. */
    latestNowMs: latestTime.atOpening,
    /** Whether the file was removed, or another one is at its path, so that all writes are lost. */
    isReplaced: () => identity === undefined || identityOf(path) !== identity,
    /**
     * Closes a file that is no longer at its path. Moves its log into it and removes the log, which SQLite would apply to the file
     * that is at the path now.
     */
    abandon(): void {
      try {
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
        // One process at a time: the next must not remove what this one creates.
        db.exec('BEGIN IMMEDIATE')
      } catch {
        // Another process reads or writes the old file.
      }
      // Before closing, because another file may get the inode of one that is closed.
      for (const { name, identity } of companions)
        if (identity !== undefined && identityOf(name) === identity) rmSync(name, { force: true })
      db.close()
    },
    /**
     * Runs `work` in a transaction, or in the current one. A commit that is not `durable` may be lost in a power failure but is
     * never torn.
     */
    transaction<T>(durable: boolean, nowMs: number, work: () => T): T {
      if (inTransaction) return advanceAndRun(nowMs, work)
      try {
        begin(durable)
        const result = advanceAndRun(nowMs, work)
        db.exec('COMMIT')
        return result
      } catch (error) {
        rollBack()
        throw asOurs(error)
      } finally {
        inTransaction = false
      }
    },
  }
}

/** Device and inode. Undefined if there is no file. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev}:${stats.ino}`
}

async function connect(path: string): Promise<DatabaseSync> {
  let sqlite: typeof import('node:sqlite')
  try {
    sqlite = await import('node:sqlite')
  } catch (error) {
    throw new MessagingWebhooksError('store_unsupported', `This is Node ${process.versions.node}.`, { cause: error })
  }
  createPrivate(path)
  try {
    return new sqlite.DatabaseSync(path)
  } catch (error) {
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder && existsSync(dirname(path))) throw asOurs(error)
    throw new MessagingWebhooksError('store_path_invalid', undefined, { cause: error })
  }
}

/**
 * The file contains message bodies, so only its owner may read it, whatever the umask. SQLite creates the other files with the
 * same mode.
 */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // The file exists or cannot be created. SQLite reports why.
  }
}

/**
 * Whether two connections may write one file. Before 3.51.3 a reset of the log can corrupt it (also fixed in 3.50.7 and
 * 3.44.6). Asks SQLite itself, because Node may be built with another version.
 */
export function canShare(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  if (minor === 44) return patch >= 6
  if (minor === 50) return patch >= 7
  return minor > 51 || (minor === 51 && patch >= 3)
}

/** SQLite's primary result codes, in the low eight bits. The other bits only add detail. */
const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26
/** Codes that may be caused by the data: ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE. */
const OF_THE_DATA = new Set([1, 18, 19, 20, 21, 25])

/**
 * Converts failures of the file or its disk to errors of this package, because no event caused them: a disk that was full for a
 * moment must not turn an event into `unrecognized`. Rethrows all others.
 */
export function asOurs(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
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

/** Stores the current time for the next start, because the machine's clock may be set back before then. */
function createLatestTime(db: DatabaseSync) {
  const find = db.prepare(`SELECT ${cut('at')} AS at FROM latest_time`)
  const update = db.prepare('UPDATE latest_time SET at = ?')
  const insert = db.prepare('INSERT INTO latest_time VALUES (?)')
  const atOpening = read()
  let last = atOpening

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
      const latestMs = Math.floor(Math.max(nowMs, read()))
      // The row may have been deleted.
      if (update.run(latestMs).changes === 0) insert.run(latestMs)
      last = nowMs
    },
  }
}
