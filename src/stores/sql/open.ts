/** Composes a store on a SQL server from the parts that both engines share and those of its engine. */
import type { SharedStore } from '../../inbox/record-store.ts'
import type { OpenStore } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/expire.ts'
import { openServerStore, type ServerStoreOptions } from '../server-store.ts'
import { createAging } from './aging.ts'
import type { Dialect } from './dialect.ts'
import type { TableRecords } from './records.ts'
import { createScanQueries } from './scan-queries.ts'
import { createTableScans } from './scans.ts'
import type { NoteTime } from './server-time.ts'
import { createLeasing, type WriteList } from './workers.ts'

interface SqlStoreOptions<Session, Context extends object> extends Omit<
  ServerStoreOptions<Session, Context>,
  'store' | 'retention' | 'leasing'
> {
  readonly dialect: Dialect
  readonly records: TableRecords & Pick<SharedStore, 'write' | 'payloads'>
  readonly due: SharedStore['due']
  readonly noteTime: NoteTime
  readonly writeList: WriteList
  readonly retention: Parameters<typeof retentionOf>[0]
}

export async function openSqlStore<Session, Context extends object>(
  options: SqlStoreOptions<Session, Context>,
): Promise<OpenStore<Context>> {
  const { dialect, records, due, noteTime, writeList, storeClock } = options
  const retention = retentionOf(options.retention)
  return openServerStore({
    ...options,
    store: {
      ...records,
      ...createTableScans(createScanQueries(dialect), records.readRecords),
      due,
      aged: createAging(dialect, retention),
      async close() {},
    },
    retention,
    leasing: createLeasing({ dialect, noteTime, isServerTime: storeClock !== undefined, writeList }),
  })
}
