/**
 * The store on one SQLite file: the durable default of a single machine.
 *
 * @module messaging-webhooks/sqlite
 */
import '../../runtime/supported-node.ts'
import { checkOptions } from '../../runtime/check-options.ts'
import type { Store } from '../../inbox/store.ts'
import { canShare } from '../../sqlite/connection.ts'
import { resolvedPath } from '../../sqlite/resolved-path.ts'
import { openSqlite } from './open.ts'
import { databasePath } from './path.ts'
import { settingsSchema, type SqliteStoreOptions } from './settings.ts'

export type { SqliteStoreOptions } from './settings.ts'

/**
 * A store in an SQLite file, with Node's built-in `node:sqlite` (22.13 or later; elsewhere opening fails with
 * `store_unsupported`). The connection runs in a thread of its own, so that requests do not wait for the disk. Processes on one
 * machine may share the file with SQLite 3.51.3 or later; before, the second one is refused (`store_locked`). Throws an
 * `OptionsError` for an invalid setting.
 */
export function sqliteStore(options: string | SqliteStoreOptions): Store {
  const given = typeof options === 'string' ? { path: options } : options
  const settings = checkOptions(settingsSchema, given, 'sqliteStore')
  const { retentionDays, deadLetterDays, dedupeDays, synchronous, busyTimeoutMs } = settings
  const path = databasePath(settings.path, 'sqliteStore')
  const shared = canShare()
  // Files beside the database get their names from its resolved path: the next release may reach it through another link.
  const own = resolvedPath(path)
  return {
    capabilities: { name: 'sqlite', durable: true, shared, spoolFolder: `${own}-spool` },
    open: (host) =>
      openSqlite(
        {
          database: { path, synchronous, busyTimeoutMs, shared },
          retention: { retentionDays, deadLetterDays, dedupeDays },
          workersFolder: `${own}-workers`,
        },
        host,
      ),
  }
}
