/** The columns of MySQL: bytes as the server sends them, numbers as digits. No character set can change or equate the bytes. */
import { createRowReader, type Row } from '../sql/values.ts'
import { unusable } from '../stored.ts'

function text(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('utf8') ?? unusable(column)
}

function digits(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : unusable(column)
}

function digest(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('hex') ?? unusable(column)
}

function bytesOrNone(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return Buffer.isBuffer(value) ? value : undefined
}

/** A text that is not stored as bytes: a name or a version. */
export function nameIn(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : text(row, column)
}

export const rowReader = createRowReader({ digits, digest, text, bytesOrNone })
