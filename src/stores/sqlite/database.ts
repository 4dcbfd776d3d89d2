/** Opens a database file: its settings, its transactions, and what its failures mean. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { watchFile, type FileWatch } from './file-watch.ts'
import { checkOurs, migrate, stampFile } from './migrations.ts'
import { integer, prepare } from './statements.ts'

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
  readonly file: FileWatch
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

  /** Some failures, such as a full disk, have done it already. */
  function rollBack(): void {
    try {
      db.exec('ROLLBACK')
    } catch {
      // Nothing was open any more.
    }
  }

  function tellAndRun<T>(nowMs: number, work: () => T): T {
    if (latestTime.tell(nowMs)) stampFile(db, nowMs)
    return work()
  }

  function begin<T>(durable: boolean, nowMs: number, work: () => T): T {
    if (file.isReplaced) throw new MessagingWebhooksError('store_replaced')
    const wanted = durable ? synchronous : synchronous === 'OFF' ? 'OFF' : 'NORMAL'
    if (wanted !== level) db.exec(`PRAGMA synchronous = ${wanted}`)
    level = wanted
    try {
      db.exec('BEGIN IMMEDIATE')
      inTransaction = true
      const result = tellAndRun(nowMs, work)
      db.exec('COMMIT')
      return result
    } catch (error) {
      if (inTransaction) rollBack()
      throw asOurs(error)
    } finally {
      inTransaction = false
    }
  }

  return {
    db,
    latestNowMs: latestTime.atOpening,
    transaction: (durable, nowMs, work) => (inTransaction ? tellAndRun(nowMs, work) : begin(durable, nowMs, work)),
    file,
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

/** The latest time that was told; 0 for none, or where it is damaged: a time beyond 2100 would let everything be forgotten. */
const FIND_LATEST_TIME = /* sql */ `
SELECT CASE WHEN told BETWEEN 0 AND 4102444800000 THEN told ELSE 0 END AS told FROM latest_time
`

/** It is so late; another process may have seen a later time. One that is damaged (see FIND_LATEST_TIME) counts for nothing. */
const TELL_TIME = /* sql */ `
UPDATE latest_time SET told = CASE WHEN told BETWEEN 0 AND 4102444800000 THEN max(told, :now) ELSE :now END
`

/** For a file whose only row was deleted. */
const BEGIN_TIME = /* sql */ `
INSERT INTO latest_time VALUES (0)
`

interface LatestTime {
  /** What was told before this opening. */
  readonly atOpening: number | undefined
  /** Called in every transaction that writes; true in the first one of a second. */
  tell(nowMs: number): boolean
}

/** Remembers, for the next start, how late it was: the machine's clock may be set back before it. */
export function createLatestTime(db: DatabaseSync): LatestTime {
  const tellTime = prepare(db, TELL_TIME)
  const row = prepare(db, FIND_LATEST_TIME).get()
  if (row === undefined) prepare(db, BEGIN_TIME).run()
  let told = row === undefined ? 0 : integer(row, 'told')
  return {
    atOpening: told === 0 ? undefined : told,
    tell(nowMs) {
      if (nowMs < told + TELL_EVERY_MS) return false
      tellTime.run({ now: nowMs })
      told = nowMs
      return true
    },
  }
}
