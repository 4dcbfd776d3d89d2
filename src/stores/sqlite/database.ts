/** Opens a database file: its settings, its transactions, and what its failures mean. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { watchFile } from './file-watch.ts'
import { checkOurs, migrate, stampFile } from './migrations.ts'
import { cut, integer } from './statements.ts'

export interface DatabaseOptions {
  readonly path: string
  readonly synchronous: 'FULL' | 'NORMAL' | 'OFF'
  readonly busyTimeoutMs: number
}

export interface Database {
  readonly db: DatabaseSync
  /** The latest time of a transaction before this opening, to within a second. */
  readonly latestNowMs: number | undefined
  /**
   * Runs `work` in one transaction, and where there is one already, in that. A commit that is not `durable` may be lost with
   * the power, never torn.
   */
  transaction<T>(durable: boolean, nowMs: number, work: () => T): T
  /**
   * Whether the file was removed, replaced or overwritten: what is written to it then is written into the void. As long as it is so,
   * every transaction throws `store_replaced`.
   */
  readonly file: ReturnType<typeof watchFile>
}

/** The `nowMs` of what is not timed by the receiver's clock. */
export const UNTIMED = -Infinity

/** How long to pause where SQLite says "busy" without having waited. */
const OPEN_AGAIN_MS = 20

/** Opens, checks and migrates. Throws a `MessagingWebhooksError` (`store_unsupported`, `store_foreign`, ...). */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const clock = systemClock()
  const untilMs = clock.now() + options.busyTimeoutMs
  for (;;) {
    try {
      return await openOnce(options)
    } catch (error) {
      // The change to WAL heeds no busy_timeout (measured): of two processes that make a file at once, one is told "busy".
      const isBusy = error instanceof MessagingWebhooksError && error.code === 'store_locked'
      if (!isBusy || clock.now() >= untilMs) throw error
    }
    await new Promise<void>((resolve) => clock.setTimer(resolve, OPEN_AGAIN_MS, true))
  }
}

async function openOnce({ path, synchronous, busyTimeoutMs }: DatabaseOptions): Promise<Database> {
  const db = await connect(path)
  try {
    // By PRAGMA, because some Nodes ignore the constructor's option.
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    // In one transaction: another process may be making the file, and half of what it wrote looks like somebody else's.
    db.exec('BEGIN')
    checkOurs(db)
    db.exec('COMMIT')
    if (!canShare(process.versions['sqlite'] ?? '0')) db.exec('PRAGMA locking_mode = EXCLUSIVE')
    db.exec('PRAGMA journal_mode = WAL')
    migrate(db)
  } catch (error) {
    db.close()
    throw asOurs(error)
  }
  const latestTime = createLatestTime(db)
  const file = watchFile(path)
  let level: string | undefined
  /** `db.isTransaction` would say so, but not on Node 22.13. */
  let inTransaction = false

  function begin(durable: boolean): void {
    if (file.isReplaced) throw new MessagingWebhooksError('store_replaced')
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
      // Nothing was begun, or a failure such as a full disk has done it already.
    }
  }

  function tellAndRun<T>(nowMs: number, work: () => T): T {
    if (latestTime.tell(nowMs)) {
      // Under load no timer may fire that looks for it.
      if (file.checkPath()) throw new MessagingWebhooksError('store_replaced')
      stampFile(db, nowMs)
    }
    return work()
  }

  return {
    db,
    latestNowMs: latestTime.atOpening,
    file,
    transaction(durable, nowMs, work) {
      if (inTransaction) return tellAndRun(nowMs, work)
      try {
        begin(durable)
        const result = tellAndRun(nowMs, work)
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

/** Bodies are in it, so nobody else may read it, whatever the umask allows. SQLite makes the files beside it with its mode. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // It is there, or cannot be made: SQLite says why.
  }
}

/**
 * Whether two connections may write one file: before 3.51.3 a reset of the log can corrupt it (3.50.7 and 3.44.6 are
 * mended too). SQLite is asked, not Node, which may be built with another.
 */
export function canShare(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  if (minor === 44) return patch >= 6
  if (minor === 50) return patch >= 7
  return minor > 51 || (minor === 51 && patch >= 3)
}

/** SQLite's own result codes; the rest of a code beyond these eight bits only says more of the same. */
const SQLITE_BUSY = 5
const SQLITE_NOTADB = 26
/** What may be the fault of the data: ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE. */
const OF_THE_DATA = new Set([1, 18, 19, 20, 21, 25])

/**
 * A failure of the file or its disk becomes an error of ours, for then no event is to blame: a full disk that has room
 * again a moment later must not make an `unrecognized` event of the one that did not fit. The rest is thrown as it is.
 */
export function asOurs(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
  if (code === undefined || OF_THE_DATA.has(code)) return error
  if (code === SQLITE_BUSY) return new MessagingWebhooksError('store_locked', undefined, { cause: error })
  if (code === SQLITE_NOTADB) return new MessagingWebhooksError('store_foreign', undefined, { cause: error })
  // SQLite's own words, such as "database or disk is full"; they name neither a path nor a value.
  return new MessagingWebhooksError('store_failed', error instanceof Error ? error.message : undefined, {
    cause: error,
  })
}

/** So that not every transaction writes a page more. */
const TELL_EVERY_MS = 1_000
/** The year 2100: a later time is damage, and would let everything be forgotten. */
const LATEST_MS = 4_102_444_800_000

/** Remembers, for the next start, how late it was: the machine's clock may be set back before it. */
export function createLatestTime(db: DatabaseSync) {
  const find = db.prepare(`SELECT ${cut('told')} AS told FROM latest_time`)
  const update = db.prepare('UPDATE latest_time SET told = ?')
  const insert = db.prepare('INSERT INTO latest_time VALUES (?)')
  const atOpening = read()
  let last = atOpening

  function read(): number {
    const row = find.get()
    const told = row === undefined ? 0 : integer(row, 'told')
    return told > LATEST_MS ? 0 : told
  }

  return {
    /** What was told before this opening. */
    atOpening: atOpening === 0 ? undefined : atOpening,
    /** Called in every transaction that writes; true in the first one of a second. */
    tell(nowMs: number): boolean {
      if (nowMs < last + TELL_EVERY_MS) return false
      // Another process may have told a later time.
      const told = Math.floor(Math.max(nowMs, read()))
      // The row may have been deleted.
      if (update.run(told).changes === 0) insert.run(told)
      last = nowMs
      return true
    },
  }
}
