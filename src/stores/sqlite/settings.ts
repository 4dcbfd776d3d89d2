/** The options of an SQLite store, and their checks. */
import { z } from 'zod'
import { millisecondsAboveZero, textOf, type Given } from '../../runtime/check-options.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'

export const sqliteOptions = {
  /** The path of the database file, or `file:` or `sqlite:` with it. Created if missing. Files and folders whose names begin with its name belong to it. */
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
export const settingsSchema = z.strictObject(sqliteOptions)

/** The settings of an SQLite store. */
export interface SqliteStoreOptions extends Given<typeof sqliteOptions> {}
