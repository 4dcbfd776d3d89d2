/**
 * Values on their way into the database and back. Records and texts go as bytes: JSON escapes lone surrogates and NUL, and
 * bytea has no opinion on what is text. What comes is read as what its column is declared to be: as the text that the server
 * sent, whatever parsers the application has set for its own queries; bytes are asked for as hexadecimal digits.
 */
import type { EventRecord } from '../../inbox/record.ts'
import type { NewEvent } from '../../inbox/store.ts'

function encodeRecord(record: EventRecord): Buffer {
  return Buffer.from(JSON.stringify(record))
}

export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}

export type Row = Readonly<Record<string, unknown>>

export function integer(row: Row, column: string): number {
  const value = row[column]
  const number = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN
  return Number.isSafeInteger(number) ? number : damaged(column)
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : damaged(column)
}

export function truth(row: Row, column: string): boolean {
  const value = row[column]
  return value === 't' || value === 'f' ? value === 't' : damaged(column)
}

export function bytes(row: Row, column: string): Buffer {
  return Buffer.from(text(row, column), 'hex')
}

/** Bytes that may be missing. */
export function bytesOrNone(row: Row, column: string): Buffer | undefined {
  return isNull(row, column) ? undefined : bytes(row, column)
}

/** A whole number that may be anything: `otherwise` where it is not one from 0 to `most`. */
export function within(row: Row, column: string, most: number, otherwise: number): number {
  const number = Number(row[column])
  return number >= 0 && number <= most ? number : otherwise
}

/** An array of words, none of which needs quoting. */
export function words(row: Row, column: string): readonly string[] {
  const inside = /^\{([\w.:,]*)\}$/.exec(text(row, column))?.[1] ?? damaged(column)
  return inside === '' ? [] : inside.split(',')
}

/** An array of whole numbers, none of them null. */
export function integers(row: Row, column: string): readonly number[] {
  const inside = /^\{([-\d,]*)\}$/.exec(text(row, column))?.[1] ?? damaged(column)
  return inside === '' ? [] : inside.split(',').map(Number)
}

export function isNull(row: Row, column: string): boolean {
  return row[column] === null
}

/** The place of a row in its list: what the server wrote in these columns, for it may be beyond what is exact here. */
export function placeBy(...columns: readonly string[]): (row: Row) => string {
  return (row) => columns.map((column) => text(row, column)).join('.')
}

function damaged(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}

/** Records and bodies as one value, with places in it. */
export function pack(events: readonly Pick<NewEvent, 'record' | 'raw'>[]) {
  const parts: Buffer[] = []
  const starts: number[] = []
  const recordEnds: number[] = []
  const bodyEnds: number[] = []
  let end = 0
  for (const { record, raw } of events) {
    const encoded = encodeRecord(record)
    parts.push(encoded, raw)
    starts.push(end)
    recordEnds.push((end += encoded.length))
    bodyEnds.push((end += raw.length))
  }
  return { bytes: Buffer.concat(parts).toString('hex'), starts, recordEnds, bodyEnds }
}
