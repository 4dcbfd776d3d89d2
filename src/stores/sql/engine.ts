/** What the parts of a store on a SQL server share. */
import { createServerClock, type ServerClock } from '../server-time.ts'
import type { Ask, Dialect } from './dialect.ts'
import type { Statements } from './statements.ts'
import type { Row, RowReader } from './values.ts'

export interface SqlEngine extends Reading {
  readonly tables: Dialect['tables']
  readonly clock: ServerClock
  /** Takes the server's time from a row with `now`. */
  readonly noteTime: (row: Row | undefined, sentMs: number) => void
}

/** What reading the tables needs. */
export interface Reading {
  readonly statements: Statements
  /** Runs a statement that only reads. */
  readonly ask: Ask
  readonly rows: RowReader
}

export function createServerTime({ integer }: Pick<RowReader, 'integer'>) {
  const clock = createServerClock()
  return {
    clock,
    noteTime(row: Row | undefined, sentMs: number): void {
      if (row !== undefined) clock.note(integer(row, 'now'), sentMs)
    },
  }
}
