/** Reads a column as what it is declared to be; the tables are STRICT, so nothing else can stand there. */
import type { SQLOutputValue } from 'node:sqlite'

export type Row = Readonly<Record<string, SQLOutputValue>>

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
