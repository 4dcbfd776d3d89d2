/** The common base of all operations: statements, the connections that run them, and the server's clock. */
import { monotonicMs } from '../../runtime/clock.ts'
import { createServerTime, type SqlEngine } from '../sql/engine.ts'
import { createStatements } from '../sql/statements.ts'
import type { Connections } from './connections.ts'
import { rowReader } from './reading.ts'
import { createDialect, createWriteStatements, quoteName } from './statements.ts'

export interface Engine extends SqlEngine, Pick<Connections, 'change'> {
  readonly writes: ReturnType<typeof createWriteStatements>
}

/** Reads the server's clock for the first time. */
export async function createEngine({ ask, change }: Connections, schema: string): Promise<Engine> {
  const dialect = createDialect(quoteName(schema))
  const statements = createStatements(dialect)
  const times = createServerTime(rowReader)
  const sentMs = monotonicMs()
  const [row] = await ask(statements.workers)
  times.noteTime(row, sentMs)
  const writes = createWriteStatements(dialect)
  return { ...times, tables: dialect.tables, statements, writes, rows: rowReader, ask, change }
}
