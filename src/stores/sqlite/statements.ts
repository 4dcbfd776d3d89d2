/** Typed reading of rows. Parameters are bound by position: binding by name makes an insert three times slower. */
import type { SQLOutputValue } from 'node:sqlite'

export type Row = Readonly<Record<string, SQLOutputValue>>

/** Reads a column as its declared type. The tables are STRICT, so it cannot have another. */
export function integer(row: Row, column: string): number {
  const value = row[column]
  return typeof value === 'number' ? value : damaged(column)
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : damaged(column)
}

/** Undefined if the column is null. */
export function textOrNone(row: Row, column: string): string | undefined {
  const value = row[column]
  return typeof value === 'string' ? value : undefined
}

/** Undefined if the column is null. */
export function blob(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined
}

function damaged(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}

/**
 * Clamps a number to the range of JavaScript. A corrupt number, read directly, would fail the whole statement with all its other
 * rows.
 */
export function cut(column: string): string {
  return `max(0, min(${column}, ${Number.MAX_SAFE_INTEGER}))`
}
