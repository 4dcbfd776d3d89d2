/** Opens the local file in its thread: one SQLite file with the spool and the quarantine, shared by the processes of a machine. */
import { dirname } from 'node:path'
import { canShare, connect, createFile, readPragma, retryWhileBusy, setPragma } from '../sqlite/connection.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { fileError, type FilePlace } from './file-error.ts'
import { makeFolder } from './folder.ts'
import { REQUEST_TABLES, SPOOL_TABLES } from './tables.ts'
import { sql, type Sql } from '../runtime/sql.ts'

export interface FileSettings extends FilePlace {
  /** Maximum size. Appends to the spool beyond it are rejected. */
  readonly maxBytes: number
  /** Whether processes can share the file in WAL mode. Default: what this version of SQLite can. */
  readonly shared?: boolean
}

export type LocalDatabase = Awaited<ReturnType<typeof openLocalDatabase>>

/** How long to wait for another process that is writing. */
const BUSY_MS = 5_000
const CHECKPOINT_PAGES = 2_000
/** Application id: "mwlf" in ASCII. */
const APPLICATION_ID = 0x6d776c66
/** Numbered from 1. `user_version` is the number of the last one. */
const MIGRATIONS: readonly Sql[] = [sql`${SPOOL_TABLES}${REQUEST_TABLES}`]

/** Throws a `MessagingWebhooksError`. */
export function openLocalDatabase(settings: FileSettings) {
  return retryWhileBusy(
    BUSY_MS,
    () => openOnce(settings),
    (error) => error instanceof MessagingWebhooksError && error.code === 'spool_locked',
  )
}

async function openOnce(settings: FileSettings) {
  const { path, maxBytes, shared = canShare() } = settings
  const asFileError = (error: unknown): MessagingWebhooksError => fileError(error, settings)
  try {
    makeFolder(dirname(path))
  } catch (error) {
    throw asFileError(error)
  }
  const db = await connect(path).catch((error: unknown) => {
    throw asFileError(error)
  })
  try {
    // Set by PRAGMA, because some Node versions ignore the constructor's option.
    setPragma(db, 'busy_timeout', BUSY_MS)
    // In one transaction: a file that another process has half created would look foreign.
    db.exec(sql`BEGIN`)
    const version = checkOurs()
    db.exec(sql`COMMIT`)
    // Without WAL, two processes can share the file in every version of SQLite.
    db.exec(sql`PRAGMA journal_mode = ${shared ? 'WAL' : 'TRUNCATE'}`)
    setPragma(db, 'wal_autocheckpoint', CHECKPOINT_PAGES)
    db.exec(sql`PRAGMA secure_delete = ON`)
    if (version < MIGRATIONS.length) migrate()
    const { transaction, ...file } = createFile(db, path, 'FULL')
    return {
      db,
      maxBytes,
      ...file,
      transaction<T>(durable: boolean, work: () => T): T {
        try {
          return transaction(durable, work)
        } catch (error) {
          throw asFileError(error)
        }
      },
    }
  } catch (error) {
    db.close()
    throw asFileError(error)
  }

  function checkOurs(): number {
    const version = readPragma(db, 'user_version')
    const applicationId = readPragma(db, 'application_id')
    const tables = Number(db.prepare(sql`SELECT count(*) AS tables FROM sqlite_schema`).get()?.['tables'])
    if (applicationId !== APPLICATION_ID && (applicationId !== 0 || version !== 0 || tables > 0))
      throw fileError('foreign', settings)
    if (version > MIGRATIONS.length) throw fileError('newer', settings)
    return version
  }

  function migrate(): void {
    db.exec(sql`BEGIN IMMEDIATE`)
    // Read again: another process may have migrated while this one waited for the lock.
    for (let version = readPragma(db, 'user_version'); version < MIGRATIONS.length; version += 1) {
      db.exec(MIGRATIONS[version] ?? sql``)
      setPragma(db, 'user_version', version + 1)
    }
    setPragma(db, 'application_id', APPLICATION_ID)
    db.exec(sql`COMMIT`)
  }
}
