/** Opens the store: pool, tables and clock, and composes its parts. MySQL notifies no process, so the store is polled. */
import type { Pool } from 'mysql2/promise'
import type { MessageStore, StoreHost } from '../../inbox/store.ts'
import type { Sql } from '../../runtime/sql.ts'
import { secretsIn } from '../sql/failures.ts'
import { checkPrivileges, loadPeer, type Migrated } from '../sql/connecting.ts'
import { createPolling, openSqlStore } from '../sql/open.ts'
import { createConnections } from './connections.ts'
import { flushProblem } from './durability.ts'
import { createRecords } from './records.ts'
import { createEngine, type Engine } from './engine.ts'
import { createMysqlFailures } from './failures.ts'
import { findVersion, LATEST, migrate, requiredColumns } from './migrations.ts'
import type { Settings } from './settings.ts'
import { transactionEngine, type MysqlContext } from './transactions.ts'
import type { WriteList } from '../sql/workers.ts'

export async function openMysql(settings: Settings, host: StoreHost): Promise<MessageStore<MysqlContext>> {
  const { prefix } = settings
  const { connections, failures } = await reach(settings)
  try {
    await migrate(connections, prefix)
    const runAll = async (all: readonly Sql[]): Promise<void> => {
      for (const statement of all) await connections.script(statement)
    }
    await checkPrivileges(runAll, requiredColumns(prefix), host)
    const problem = await flushProblem(connections.ask)
    if (problem !== undefined) host.report(problem)
    const engine = await createEngine(connections, prefix)
    const polling = createPolling(host.onWork, () => settings.pollIntervalMs)
    if (host.claims) polling.restart()
    return await openSqlStore({
      host,
      settings,
      engine,
      records: createRecords(engine),
      writeList: listWriter(engine),
      waking: { notify() {}, stop: polling.stop },
      transactions: {
        ...transactionEngine(connections, failures),
        maxConnections: settings.pool?.pool.config.connectionLimit ?? settings.maxConnections,
        within: (session) => createRecords(engine, session.ask, (work) => work(session)),
      },
      close: connections.close,
    })
  } catch (error) {
    await connections.close()
    throw failures.asThrown(error)
  }
}

/** The number of migrations of the tables (0 if there are none), and of this package. `applies`: applies the missing ones. */
export async function findMigrations(settings: Settings, applies: boolean): Promise<Migrated> {
  const { connections } = await reach(settings)
  try {
    const from = await findVersion(connections, settings.prefix)
    if (applies) await migrate(connections, settings.prefix)
    return { from, to: LATEST }
  } finally {
    await connections.close()
  }
}

/** A pool, the store's own or the application's, in which nothing hangs. */
async function reach(settings: Settings) {
  const password = settings.pool?.pool.config.password
  const failures = createMysqlFailures([...secretsIn([settings.uri]), ...(password === undefined ? [] : [password])])
  const pool = settings.pool ?? (await ownPool(settings))
  return { failures, connections: createConnections(pool, settings, failures) }
}

async function ownPool({ uri, maxConnections, connectTimeoutMs }: Settings): Promise<Pool> {
  const mysql = await loadPeer(import('mysql2/promise'), 'mysqlStore needs mysql2: npm install mysql2.')
  return mysql.createPool({
    ...(uri === undefined ? {} : { uri }),
    connectionLimit: maxConnections,
    connectTimeout: connectTimeoutMs,
    enableKeepAlive: true,
  })
}

/** Replaces the list of workers. */
function listWriter({ connections, writes }: Engine): WriteList {
  return async (version, list, expected) => {
    const affected = await (expected === undefined
      ? connections.change(writes.addWorkers, [version, list])
      : connections.change(writes.setWorkers, [version, list, expected]))
    return affected > 0
  }
}
