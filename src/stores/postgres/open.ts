/** Opens the store: pool, tables and listener, and composes its parts. */
import type { Pool } from 'pg'
import { createStoreClock } from '../../inbox/runtime/store-time.ts'
import type { OpenStore, StoreHost } from '../../inbox/store.ts'
import { openSqlStore } from '../sql/open.ts'
import { checkPrivileges } from '../sql/tables.ts'
import { createHosts, loadPg, reach, type Session } from './connections.ts'
import { createDue, createRecords } from './records.ts'
import { createEngine, rowsBy, type Engine } from './engine.ts'
import { startListening, type ListenClient } from './notifications.ts'
import { migrate, requiredColumns } from './migrations.ts'
import type { Settings } from './settings.ts'
import { checkTransactions, transactionEngine, type PostgresContext } from './transactions.ts'
import type { WriteList } from '../sql/workers.ts'

/** Notifies the channel $1. $2 identifies the sender. */
const NOTIFY = /* sql */ 'SELECT pg_notify($1::text, $2::text)'

/** A connection outside the pool, whose own connections may go through a pooler without notifications. */
async function listenClient({ listenConnectionString }: Settings, pool: Pool): Promise<() => ListenClient> {
  const pg = await loadPg()
  if (listenConnectionString === undefined) return () => new pg.Client(pool.options)
  const hosts = createHosts(listenConnectionString)
  return () => {
    const connectionString = hosts.current()
    // Another attempt means that this one failed.
    hosts.leave(connectionString)
    return new pg.Client({ connectionString, keepAlive: true, application_name: 'messaging-webhooks' })
  }
}

export async function openPostgres(settings: Settings, host: StoreHost): Promise<OpenStore<PostgresContext>> {
  const { schema, transactional } = settings
  const { connections, failures, pool } = await reach(settings)
  const report = host.report ?? (() => {})
  const storeClock = settings.clock === 'server' ? createStoreClock() : undefined
  try {
    await migrate(connections, schema, failures)
    await checkPrivileges(rowsBy(connections.batch), requiredColumns(schema), host)
    if (transactional) await checkTransactions(connections, failures)
    const engine = await createEngine({ connections, schema, clock: storeClock })
    const connect = host.claims === false ? undefined : await listenClient(settings, pool)
    const listening = startListening({
      ...settings,
      connect,
      notify: (channel, payload) => connections.query(NOTIFY, [channel, payload]),
      onWork: host.onWork,
      report,
      cleaned: failures.cleaned,
    })
    const records = createRecords(engine, report)
    return await openSqlStore({
      dialect: engine.dialect,
      records,
      due: createDue(engine, records, report),
      noteTime: engine.noteTime,
      writeList: listWriter(engine),
      retention: settings,
      host,
      storeClock,
      queryTimeoutMs: settings.queryTimeoutMs,
      waking: listening,
      transactions: transactional
        ? {
            engine: transactionEngine(connections, failures),
            contextOf: ({ client }: Session): PostgresContext => ({ transaction: client }),
            maxConnections: settings.pool?.options.max ?? settings.maxConnections,
            within: ({ batch }) => createRecords(engine, report, engine.within(batch)),
          }
        : undefined,
      close: connections.close,
    })
  } catch (error) {
    await connections.close()
    throw failures.asThrown(error)
  }
}

function listWriter({ schema, together }: Engine): WriteList {
  return async (version, list, expected) => {
    const [rows = []] = await together(`
INSERT INTO ${schema}.workers AS w (id, version, list) VALUES (1, ${version}, ${list})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, list = excluded.list WHERE w.version = ${expected ?? 'NULL'}
RETURNING w.id;`)
    return rows.length > 0
  }
}
