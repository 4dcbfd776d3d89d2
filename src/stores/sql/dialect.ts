/** What differs between engines in the statements that they share, and the server's clock. */
import { createServerClock, type ServerClock } from '../server-time.ts'
import type { Row, RowReader } from './values.ts'

/** Runs statements in order, in one round trip if the engine can, and returns the rows of each. */
export type RowsOf = (...statements: readonly string[]) => Promise<readonly (readonly Row[])[]>

export interface Dialect {
  /** The tables as they appear in statements. */
  readonly tables: Readonly<Record<'records' | 'payloads' | 'dead_letters' | 'workers', string>>
  /** The name of the column with the key of a record. */
  readonly keyColumn: string
  /** The table with the rows of `dueRowOf`, and its columns for the number of the record and for the time. The time may be null. */
  readonly due: { readonly table: string; readonly record: string; readonly at: string }
  /** The columns of a record `r`, and of a payload `p`, for `RowReader`. */
  readonly recordColumns: string
  readonly payloadColumns: string
  /** The server's clock in milliseconds. */
  readonly serverNow: string
  /** A digest, and bytes, as the server returns them. */
  readonly digestIn: (column: string) => string
  readonly bytesIn: (column: string) => string
  readonly digestValue: (digest: string) => string
  /** The bytes of a text. */
  readonly textValue: (text: string) => string
  /** Digits of any length as a number of eight bytes. */
  readonly bigintValue: (digits: string) => string
  readonly isOneOf: (column: string, digests: readonly string[]) => string
  /** Compares two columns with two values in a way that the index of both can answer. */
  readonly comparePair: (columns: Pair, sign: '<' | '>', values: Pair) => string
  readonly rows: RowReader
  readonly rowsOf: RowsOf
}

type Pair = readonly [string, string]

/** Adds the columns for `RowReader`. */
export function createDialect(differences: Omit<Dialect, 'recordColumns' | 'payloadColumns'>): Dialect {
  const { keyColumn, digestIn, bytesIn } = differences
  const bytes = (table: string, names: readonly string[]): string =>
    names.map((name) => `${bytesIn(`${table}.${name}`)} AS ${name}`).join(', ')
  return {
    ...differences,
    recordColumns: `r.number, ${digestIn(`r.${keyColumn}`)} AS digest, r.sent_at, r.overdue_at,
  ${bytes('r', ['version', 'state', 'reports', 'send'])}`,
    payloadColumns: `p.record, ${digestIn('p.id')} AS id, p.admitted_at, ${bytes('p', ['event', 'raw', 'error'])}`,
  }
}

/** What the statements of an engine share. */
export interface SqlEngine {
  readonly dialect: Dialect
  readonly clock: ServerClock
  /** Takes the server's time from a row with `now`. */
  readonly noteTime: (row: Row | undefined, sentMs: number) => void
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
