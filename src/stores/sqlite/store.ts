/** The store on one SQLite file: the durable default of a single machine. */
import { OptionsError } from '../../errors.ts'
import type { Store } from '../../inbox/store.ts'
import { requireAboveZero } from '../bounds.ts'
import { canShare } from './database.ts'
import { openInThread } from './thread.ts'

/** The settings of an SQLite store. */
export interface SqliteStoreOptions {
  /** The database file; created where it does not exist. Files and folders that begin with its name belong to it. */
  readonly path: string
  /** How long the payloads of settled events are kept. Default 7 days. */
  readonly retentionDays?: number
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number
  /** How long a duplicate is recognised. Default 30 days. */
  readonly dedupeDays?: number
  /**
   * `FULL`: a 204 means that the event is on the disk. `NORMAL` may lose the last moments with the power, `OFF` more; a
   * crash of the process alone loses nothing with either. Default `FULL`.
   */
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF'
  /** How long to wait for another process that is writing. Default 5,000 ms. */
  readonly busyTimeoutMs?: number
}

const SYNCHRONOUS = ['FULL', 'NORMAL', 'OFF'] as const

/**
 * A store on an SQLite file, with Node's own `node:sqlite` (22.13 and later; opening it elsewhere fails with
 * `store_unsupported`). The connection lives in a thread of its own, so that no request waits for the disk of another.
 * Processes on one machine may share the file where SQLite is 3.51.3 or later, else the second is refused
 * (`store_locked`). Throws an `OptionsError` for a setting that cannot work.
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const {
    path,
    retentionDays = 7,
    deadLetterDays = 30,
    dedupeDays = 30,
    synchronous = 'FULL',
    busyTimeoutMs = 5_000,
  } = typeof options === 'string' ? { path: options } : options
  if (path === '') throw new OptionsError('sqliteStore: path is empty; expected a file name.')
  if (path === ':memory:') throw new OptionsError('sqliteStore: path is ":memory:"; use memoryStore() for that.')
  if (!SYNCHRONOUS.includes(synchronous))
    throw new OptionsError(`sqliteStore: synchronous must be one of ${SYNCHRONOUS.join(', ')}.`)
  requireAboveZero('sqliteStore', { retentionDays, deadLetterDays, dedupeDays, busyTimeoutMs })
  const shared = canShare(process.versions['sqlite'] ?? '0')
  return {
    capabilities: { name: 'sqlite', durable: true, shared, admitsAndClaims: true, spoolFolder: `${path}-spool` },
    open: ({ onWork, report = () => {} }) =>
      openInThread(
        {
          database: { path, synchronous, busyTimeoutMs },
          retention: { retentionDays, deadLetterDays, dedupeDays },
          holdersFolder: `${path}-holders`,
        },
        { onWork, report },
      ),
  }
}
