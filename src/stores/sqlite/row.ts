/** Reads a column as what it is declared to be; a file that says otherwise is damaged, and reading on would spread it. */
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

export function bytes(row: Row, column: string): Buffer {
  const value = row[column]
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : damaged(column)
}

function damaged(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}
