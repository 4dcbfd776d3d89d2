/** The common base of all operations: statements, the connections that run them, and the server's clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { createServerTime, type SqlEngine } from '../sql/engine.ts'
import { createStatements } from '../sql/statements.ts'
import type { Connections } from './connections.ts'
import { tablesOf } from './migrations.ts'
import { rowReader } from './reading.ts'
import { createDialect, createWriteStatements } from './statements.ts'

export interface Engine extends SqlEngine {
  readonly writes: ReturnType<typeof createWriteStatements>
  readonly connections: Connections
}

/** Reads the server's clock for the first time. */
export async function createEngine(connections: Connections, prefix: string): Promise<Engine> {
  const dialect = createDialect(tablesOf(prefix))
  const statements = createStatements(dialect)
  const { ask } = connections
  const times = createServerTime(rowReader)
  const sentMs = monotonicMs()
  const [row] = await ask(statements.workers)
  times.noteTime(row, sentMs)
  const writes = createWriteStatements(dialect)
  return { ...times, tables: dialect.tables, statements, writes, rows: rowReader, ask, connections }
}
