/** Opens the store: pool, tables and listener, and composes its parts. */
import type { Pool } from 'pg'
import type { MessageStore, StoreHost } from '../../inbox/store.ts'
import { joined, sql } from '../../runtime/sql.ts'
import { openSqlStore } from '../sql/open.ts'
import { checkPrivileges } from '../sql/connecting.ts'
import { loadPg, reach } from './connections.ts'
import { createHosts } from './hosts.ts'
import { createRecords } from './records.ts'
import { createEngine, type Engine } from './engine.ts'
import { startListening, type ListenClient } from './notifications.ts'
import { migrate, requiredColumns } from './migrations.ts'
import type { Settings } from './settings.ts'
import { checkTransactions, transactionEngine, type PostgresContext } from './transactions.ts'
import type { WriteList } from '../sql/workers.ts'

/** Notifies the channel $1. $2 identifies the sender. */
const NOTIFY = { name: 'mw_notify', text: sql`SELECT pg_notify($1, $2)` }

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

export async function openPostgres(settings: Settings, host: StoreHost): Promise<MessageStore<PostgresContext>> {
  const { schema } = settings
  const { report } = host
  const { connections, failures, pool } = await reach(settings, report)
  try {
    await migrate(connections, schema, failures)
    await checkPrivileges((all) => connections.script(joined(all, ';\n')), requiredColumns(schema), host)
    if (settings.transactional) await checkTransactions(connections, failures)
    const engine = await createEngine(connections, schema)
    const connect = host.claims ? await listenClient(settings, pool) : undefined
    return await openSqlStore({
      host,
      settings,
      engine,
      records: createRecords(engine),
      writeList: listWriter(engine),
      waking: startListening({
        ...settings,
        connect,
        notify: (channel, payload) => connections.ask(NOTIFY, [channel, payload]),
        onWork: host.onWork,
        report,
        cleaned: failures.cleaned,
      }),
      transactions: {
        ...transactionEngine(connections, failures),
        maxConnections: settings.pool?.options.max ?? settings.maxConnections,
        within: (session) => createRecords(engine, session),
      },
      close: connections.close,
    })
  } catch (error) {
    await connections.close()
    throw failures.asThrown(error)
  }
}

function listWriter({ writes, change }: Engine): WriteList {
  return async (version, list, expected) => {
    const values = [version, list, expected ?? null]
    const [rows = []] = await change([{ statement: writes.setWorkers, values }])
    return rows.length > 0
  }
}
