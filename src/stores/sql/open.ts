/** Composes a store on a SQL server from the parts that both engines share and those of its engine. */
import type { SharedEngine } from '../engine.ts'
import type { MessageStore } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/retention.ts'
import { systemClock } from '../../runtime/clock.ts'
import { openServerStore, type ServerStoreOptions } from '../server-store.ts'
import type { TransactionEngine } from '../transactions.ts'
import type { SqlSettings } from './connecting.ts'
import type { SqlEngine } from './engine.ts'
import { createAging, type TableRecords } from './records.ts'
import { createScans } from './scans.ts'
import { watchEmptied } from './emptied.ts'
import { createLeasing, type WriteList } from './workers.ts'

/** How long closing waits for the release of leases. */
const LEAVE_MS = 10_000

export async function openSqlStore<Session, Context extends object>(
  options: Pick<ServerStoreOptions<Session, Context>, 'host' | 'waking' | 'close'> & {
    readonly settings: SqlSettings
    readonly engine: SqlEngine
    readonly records: TableRecords & Pick<SharedEngine, 'write'> & { readonly dueEvents: SharedEngine['due'] }
    readonly writeList: WriteList
    /** Used if the settings ask for transactions. */
    readonly transactions: TransactionEngine<Session, Context>
  },
): Promise<MessageStore<Context>> {
  const { settings, engine, records, writeList, transactions, waking, ...others } = options
  const retention = retentionOf(settings)
  const aged = createAging(engine, retention)
  let stopWatching = (): void => {}
  const open = await openServerStore({
    ...others,
    createEngine: () => ({
      ...records,
      ...createScans(engine),
      nowMs: () => engine.clock.nowMs(),
      async due(lookup) {
        if (lookup.of === 'events') return records.dueEvents(lookup)
        return lookup.of === 'sends' ? records.overdue(lookup) : aged(lookup)
      },
    }),
    retention,
    queryTimeoutMs: settings.queryTimeoutMs,
    parts: [createLeasing(engine, writeList)],
    partOf: () => 0,
    leaveMs: LEAVE_MS,
    waking: {
      ...waking,
      stop() {
        stopWatching()
        return waking.stop()
      },
    },
    transactions: settings.transactional ? transactions : undefined,
  })
  // From here on this process is in the list of workers.
  stopWatching = await watchEmptied(engine, retention, options.host.report)
  return open
}

/** Looks for work of other processes at intervals. The first interval begins with `restart`. */
export function createPolling(onWork: () => void, intervalMs: () => number) {
  let isStopped = false
  let cancel = (): void => {}

  function restart(): void {
    cancel()
    if (isStopped) return
    cancel = systemClock().setTimer(() => {
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
