/** What every SQLite file of this package needs: Node's module, private files, transactions, and the end of a replaced file. */
import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { systemClock } from '../runtime/clock.ts'
import { plainName, sql, wholeNumber, type Sql } from '../runtime/sql.ts'

/** An open file, whose statements are constant. */
export interface Connection extends Pick<DatabaseSync, 'close' | 'isOpen'> {
  prepare(text: Sql): StatementSync
  exec(text: Sql): void
}

/** Creates the file, and opens it. Rejects if this Node has no `node:sqlite`. */
export async function connect(path: string): Promise<Connection> {
  const { DatabaseSync } = await import('node:sqlite')
  createPrivate(path)
  return new DatabaseSync(path)
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

/** A pause after SQLite returned "busy" without waiting. */
const OPEN_AGAIN_MS = 20

/**
 * Repeats `open` while another process creates the file: the switch to WAL ignores busy_timeout (measured), so one of two
 * processes that create a file at once gets "busy".
 */
export async function retryWhileBusy<T>(
  busyTimeoutMs: number,
  open: () => Promise<T>,
  isBusy: (error: unknown) => boolean,
): Promise<T> {
  const clock = systemClock()
  const untilMs = clock.now() + busyTimeoutMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isBusy(error) || clock.now() >= untilMs) throw error
    }
    await new Promise<void>((resolve) => clock.setTimer(resolve, OPEN_AGAIN_MS, true))
  }
}

export type Durability = 'FULL' | 'NORMAL' | 'OFF'

/** Transactions on an open file, and its end when it is no longer at its path. */
export function createFile(db: Connection, path: string, synchronous: Durability) {
  const identity = identityOf(path)
  const companions = [`${path}-wal`, `${path}-shm`].map((name) => ({ name, identity: identityOf(name) }))
  let level: Durability | undefined
  /** Node 22.13 lacks `db.isTransaction`. */
  let inTransaction = false

  function begin(durable: boolean): void {
    const wanted = durable ? synchronous : synchronous === 'OFF' ? 'OFF' : 'NORMAL'
    if (wanted !== level) db.exec(sql`PRAGMA synchronous = ${wanted}`)
    level = wanted
    db.exec(sql`BEGIN IMMEDIATE`)
    inTransaction = true
  }

  function rollBack(): void {
    try {
      db.exec(sql`ROLLBACK`)
    } catch {
      // No transaction was open, or a failure such as a full disk has rolled it back already.
    }
  }

  return {
    /**
     * Whether the file was removed, possibly while it was being opened, or another one is at its path, so that all writes are
     * lost.
     */
    isReplaced: () => identity === undefined || identityOf(path) !== identity,
    /**
     * Closes a file that is no longer at its path. Moves its log into it and removes the log, which SQLite would apply to the file
     * that is at the path now.
     */
    abandon(): void {
      try {
        db.exec(sql`PRAGMA wal_checkpoint(TRUNCATE)`)
        // One process at a time: the next must not remove what this one creates.
        db.exec(sql`BEGIN IMMEDIATE`)
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
    transaction<T>(durable: boolean, work: () => T): T {
      if (inTransaction) return work()
      try {
        begin(durable)
        const result = work()
        db.exec(sql`COMMIT`)
        return result
      } catch (error) {
        rollBack()
        throw error
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

/**
 * Whether two connections may write one file in WAL mode. Before 3.51.3 a reset of the log can corrupt it (also fixed in 3.50.7
 * and 3.44.6). Asks SQLite itself, because Node may be built with another version.
 */
export function canShare(version = process.versions['sqlite'] ?? '0'): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  if (minor === 44) return patch >= 6
  if (minor === 50) return patch >= 7
  return minor > 51 || (minor === 51 && patch >= 3)
}

/** SQLite's primary result code, in the low eight bits; the other bits only add detail. Undefined for any other error. */
export function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

export function readPragma(db: Connection, name: string): number {
  return Number(db.prepare(sql`PRAGMA ${plainName(name)}`).get()?.[name])
}

/** Sets what takes no parameter. */
export function setPragma(db: Connection, name: string, value: number): void {
  db.exec(sql`PRAGMA ${plainName(name)} = ${wholeNumber(value)}`)
}
