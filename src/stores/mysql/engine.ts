/** The common base of all operations: statements, the connections that run them, and the server's clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { sql } from '../../runtime/sql.ts'
import { createServerTime, type SqlEngine } from '../sql/engine.ts'
import { createStatements } from '../sql/statements.ts'
import type { Connections } from './connections.ts'
import { tablesOf } from './migrations.ts'
import { nameIn, rowReader } from './reading.ts'
import { createDialect, createWriteStatements } from './statements.ts'

export interface Engine extends SqlEngine {
  readonly writes: ReturnType<typeof createWriteStatements>
  readonly connections: Connections
}

const FIND_VERSION = { name: 'mw_version', text: sql`SELECT VERSION() AS version` }

/** Refuses an old server, and reads the clock for the first time. */
export async function createEngine(connections: Connections, prefix: string): Promise<Engine> {
  const dialect = createDialect(tablesOf(prefix))
  const statements = createStatements(dialect)
  const { ask } = connections
  const [found = {}] = await ask(FIND_VERSION)
  refuseOld(nameIn(found, 'version'))
  const times = createServerTime(rowReader)
  const sentMs = monotonicMs()
  const [row] = await ask(statements.workers)
  times.noteTime(row, sentMs)
  const writes = createWriteStatements(dialect)
  return { ...times, tables: dialect.tables, statements, writes, rows: rowReader, ask, connections }
}

/** Older servers lack `SKIP LOCKED`, or tables made of JSON. */
function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const isMariaDb = version.includes('MariaDB')
  if (isMariaDb ? major > 10 || (major === 10 && minor >= 6) : major >= 8) return
  const detail = `The server is ${version}. Use MariaDB 10.6 or later, or MySQL 8.0 or later.`
  throw new MessagingWebhooksError('store_failed', detail)
}
