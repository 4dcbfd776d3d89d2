/** The columns of Postgres as text, whatever parsers the application has set: digests in hexadecimal, other bytes in base64. */
import { createRowReader, isNull, type Row } from '../sql/values.ts'
import { unusable } from '../stored.ts'

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : unusable(column)
}

export function truth(row: Row, column: string): boolean {
  const value = row[column]
  return value === 't' || value === 'f' ? value === 't' : unusable(column)
}

function bytesOrNone(row: Row, column: string): Buffer | undefined {
  return isNull(row, column) ? undefined : Buffer.from(text(row, column), 'base64')
}

export const rowReader = createRowReader({
  digits: text,
  digest: text,
  text: (row, column) => Buffer.from(text(row, column), 'base64').toString('utf8'),
  bytesOrNone,
})
