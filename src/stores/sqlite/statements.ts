/** Prepared statements, and what their rows hold. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'

export type Row = Readonly<Record<string, SQLOutputValue>>

type Parameters = Readonly<Record<string, SQLInputValue>>

interface Statement {
  get(parameters?: Parameters): Row | undefined
  all(parameters?: Parameters): readonly Row[]
  run(parameters?: Parameters): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
}

const NONE: Parameters = {}

/**
 * Parameters are given by name and bound by place: bound by name an insert of ours takes three times as long. The names are
 * `:name`, and nothing else in the text looks like one.
 */
export function prepare(db: DatabaseSync, sql: string): Statement {
  const names: string[] = []
  // No `?1`: Node 22.13 takes it for a name. A name that comes twice is bound twice.
  const nameless = sql.replaceAll(/:(\w+)/g, (_, name: string) => {
    names.push(name)
    return '?'
  })
  const statement = db.prepare(nameless)

  function valuesOf(parameters: Parameters): readonly SQLInputValue[] {
    return names.map((name) => {
      const value = parameters[name]
      if (value === undefined) throw new Error(`A statement was given no ${name}.`)
      return value
    })
  }

  return {
    get: (parameters = NONE) => statement.get(...valuesOf(parameters)),
    all: (parameters = NONE) => statement.all(...valuesOf(parameters)),
    run: (parameters = NONE) => statement.run(...valuesOf(parameters)),
  }
}

/** Reads a column as what it is declared to be; the tables are STRICT, so nothing else can stand there. */
export function integer(row: Row, column: string): number {
  const value = row[column]
  return typeof value === 'number' ? value : damaged(column)
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : damaged(column)
}

/** Undefined where the column is null. */
export function blob(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined
}

function damaged(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}

/**
 * A number as far as JavaScript can hold it: read as it is, one that was spoilt would fail the whole statement, and with it all
 * other rows.
 */
export function cut(column: string): string {
  return `max(0, min(${column}, ${Number.MAX_SAFE_INTEGER}))`
}
