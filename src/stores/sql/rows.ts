/** Reads the rows of answers: their values, and the records and payloads in them. */
import { joinRecord } from '../../inbox/runtime/codec.ts'
import { storedPayload, type PayloadColumns, type RecordColumns, type StoredPayload } from '../stored.ts'

export type Row = Readonly<Record<string, unknown>>

/** How the driver of an engine returns values. Each function throws if the row lacks the value. */
interface ColumnReader {
  /** An integer as digits. */
  readonly digits: (row: Row, column: string) => string
  /** A digest as hexadecimal digits. */
  readonly digest: (row: Row, column: string) => string
  /** Bytes that hold UTF-8 text. */
  readonly text: (row: Row, column: string) => string
  /** Undefined if the column is null. */
  readonly bytesOrNone: (row: Row, column: string) => Buffer | undefined
}

export interface RecordRow extends RecordColumns {
  readonly number: string
  readonly key: string
  readonly version: number
}

export interface RowReader extends ColumnReader {
  readonly integer: (row: Row, column: string) => number
  readonly integerOrNone: (row: Row, column: string) => number | undefined
  /** The key of the record in this row. */
  readonly keyIn: (row: Row) => string
  readonly recordIn: (row: Row) => RecordRow
  readonly payloadColumnsIn: (row: Row) => PayloadColumns
  readonly payloadIn: (row: Row) => StoredPayload
}

export function createRowReader(columns: ColumnReader): RowReader {
  const { digits, digest, text, bytesOrNone } = columns

  function integer(row: Row, column: string): number {
    const written = digits(row, column)
    const number = written === '' ? Number.NaN : Number(written)
    return Number.isSafeInteger(number) ? number : unusable(column)
  }

  function integerOrNone(row: Row, column: string): number | undefined {
    return isNull(row, column) ? undefined : integer(row, column)
  }

  function payloadColumnsIn(row: Row): PayloadColumns {
    return {
      id: digest(row, 'id'),
      admittedAtMs: integer(row, 'admitted_at'),
      record: bytesOrNone(row, 'event'),
      raw: bytesOrNone(row, 'raw'),
      error: bytesOrNone(row, 'error')?.toString('utf8'),
    }
  }

  return {
    ...columns,
    integer,
    integerOrNone,
    keyIn: (row) => digest(row, 'digest'),
    recordIn: (row) => ({
      number: digits(row, 'number'),
      key: digest(row, 'digest'),
      version: integer(row, 'version'),
      state: joinRecord(text(row, 'state'), isNull(row, 'reports') ? '' : text(row, 'reports')),
      send: isNull(row, 'send') ? undefined : text(row, 'send'),
      sentAtMs: integerOrNone(row, 'sent_at') ?? 0,
      overdueAtMs: integerOrNone(row, 'overdue_at'),
    }),
    payloadColumnsIn,
    payloadIn: (row) => storedPayload(payloadColumnsIn(row)),
  }
}

export function isNull(row: Row, column: string): boolean {
  return row[column] === null
}

export function unusable(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}
