/**
 * The store on one SQLite file: the durable default of a single machine.
 *
 * @module messaging-webhooks/sqlite
 */
import { z } from 'zod'
import { checkOptions, millisecondsAboveZero, textOf, type Given } from '../../runtime/check-options.ts'
import { OptionsError } from '../../public/errors.ts'
import type { Store } from '../../inbox/store.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'
import { canShare } from './database.ts'
import { openSqlite } from './open.ts'

export const sqliteOptions = {
  /** The database file, created if missing. Files and folders whose names begin with its name belong to it. */
  path: textOf('the path of a file'),
  ...RETENTION_OPTIONS,
  /**
   * `FULL`: a 204 means that the event is on the disk. `NORMAL` may lose the last moments in a power failure, `OFF` more. A
   * crash of the process alone loses nothing with any of them. Default `FULL`.
   */
  synchronous: z.enum(['FULL', 'NORMAL', 'OFF']).default('FULL'),
  /** How long to wait for another process that is writing. Default 5,000 ms. */
  busyTimeoutMs: millisecondsAboveZero.default(5_000),
}
const settingsSchema = z.strictObject(sqliteOptions)

/** The settings of an SQLite store. */
export interface SqliteStoreOptions extends Given<typeof sqliteOptions> {}

/**
 * A store in an SQLite file, with Node's built-in `node:sqlite` (22.13 or later; elsewhere opening fails with
 * `store_unsupported`). The connection runs in a thread of its own, so that requests do not wait for the disk. Processes on one
 * machine may share the file with SQLite 3.51.3 or later; before, the second one is refused (`store_locked`). Throws an
 * `OptionsError` for an invalid setting.
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const given = typeof options === 'string' ? { path: options } : options
  const settings = checkOptions(settingsSchema, given, 'sqliteStore')
  const { path, retentionDays, deadLetterDays, dedupeDays, synchronous, busyTimeoutMs } = settings
  if (path === ':memory:') throw new OptionsError('sqliteStore: path is ":memory:"; use memoryStore() for that.')
  const shared = canShare(process.versions['sqlite'] ?? '0')
  return {
    capabilities: { name: 'sqlite', durable: true, shared, spoolFolder: `${path}-spool` },
    open: (host) =>
      openSqlite(
        {
          database: { path, synchronous, busyTimeoutMs },
          retention: { retentionDays, deadLetterDays, dedupeDays },
          workersFolder: `${path}-workers`,
        },
        host,
      ),
  }
}
