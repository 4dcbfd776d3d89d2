/** Composes a store on a SQL server from the parts that both engines share and those of its engine. */
import type { SharedStore } from '../../inbox/record-store.ts'
import type { OpenStore } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/expire.ts'
import { openServerStore, type ServerStoreOptions } from '../server-store.ts'
import { createAging, type TableRecords } from './records.ts'
import type { Dialect, NoteTime } from './dialect.ts'
import { createScans } from './scans.ts'
import { createLeasing, type WriteList } from './workers.ts'
import type { Clock } from '../../runtime/clock.ts'

/** How long closing waits for the release of leases. */
const LEAVE_MS = 10_000

interface SqlStoreOptions<Session, Context extends object> extends Omit<
  ServerStoreOptions<Session, Context>,
  'createStore' | 'retention' | 'parts' | 'partOf' | 'leaveMs'
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
    createStore: () => ({
      ...records,
      ...createScans(dialect, records.readRecords),
      due,
      aged: createAging(dialect, retention),
      async close() {},
    }),
    retention,
    parts: [createLeasing({ dialect, noteTime, isServerTime: storeClock !== undefined, writeList })],
    partOf: () => 0,
    leaveMs: LEAVE_MS,
  })
}

/** The first interval begins with `restart`. */
export function createPolling(clock: Clock, onWork: () => void, intervalMs: () => number) {
  let isStopped = false
  let cancel = (): void => {}

  function restart(): void {
    cancel()
    if (isStopped) return
    cancel = clock.setTimer(() => {
      onWork()
      restart()
    }, intervalMs())
  }

  return {
    restart,
    stop: (): void => {
      isStopped = true
      cancel()
    },
  }
}
