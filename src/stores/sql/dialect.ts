/** Statements with parameters, and what differs between engines in those that they share. */
import type { Sql } from '../../runtime/sql.ts'
import { keysOf, recordOf } from '../../runtime/values.ts'
import type { Row } from './values.ts'

/** A constant statement. Its parameters are $1, $2 and so on. */
export interface Statement {
  /** Identifies the statement among those of a store. */
  readonly name: string
  readonly text: Sql
}

/** A value of a parameter: text, a whole number, or JSON as text. */
export type Value = string | number | null

/** Runs a statement and returns its rows. */
export type Ask = (statement: Statement, values?: readonly Value[]) => Promise<readonly Row[]>

/** Names statements by their properties. */
export function named<Name extends string>(texts: Readonly<Record<Name, Sql>>): Readonly<Record<Name, Statement>> {
  return recordOf(keysOf(texts), (name) => ({ name: `mw_${name}`, text: texts[name] }))
}

/** The columns of a JSON list of objects. A digest is of hexadecimal digits. */
export type GivenColumns = Readonly<Record<string, 'integer' | 'bigint' | 'digest' | 'text'>>

type Pair = readonly [Sql, Sql]

/** Parts of statements that differ between engines. */
export interface Dialect {
  /** The tables as they appear in statements. */
  readonly tables: Readonly<Record<'records' | 'payloads' | 'dead_letters' | 'workers', Sql>>
  /** The table with the rows of `dueRowOf`, and its columns for the number of the record and for the time. The time may be null. */
  readonly due: { readonly table: Sql; readonly record: Sql; readonly at: Sql }
  /** The server's clock in milliseconds. */
  readonly serverNow: Sql
  /** A digest, and bytes, in the form that the `RowReader` reads. */
  readonly digest: (column: Sql) => Sql
  readonly bytes: (column: Sql) => Sql
  /** The bytes of hexadecimal digits, and of base64. */
  readonly fromHex: (text: Sql) => Sql
  readonly fromBase64: (text: Sql) => Sql
  /** A parameter as an integer of eight bytes, but for LIMIT. */
  readonly integer: (parameter: Sql) => Sql
  /** The JSON list of objects in a parameter, as a table. */
  readonly given: (parameter: Sql, name: Sql, columns: GivenColumns) => Sql
  /** Compares two columns with two parameters in a way that the index of both can answer. */
  readonly comparePair: (columns: Pair, sign: '<' | '>', parameters: Pair) => Sql
}
