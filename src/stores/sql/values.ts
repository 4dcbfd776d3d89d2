/** The values of parameters, the numbers of records, and the values, records and payloads in the rows of answers. */
import { joinRecord } from '../codec.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { sql } from '../../runtime/sql.ts'
import { storedPayload, unusable, type PayloadColumns, type RecordColumns, type StoredPayload } from '../stored.ts'

/** Bounds of `bigint`. */
export const LARGEST = '9223372036854775807'
export const LEAST = '-9223372036854775807'

export function base64(text: string | Buffer): string {
  return (typeof text === 'string' ? Buffer.from(text) : text).toString('base64')
}

/** Throws for a number that JavaScript cannot represent exactly: it would make a query unreadable, and with it the other rows. */
export function whole(number: number): number {
  const ceiled = Math.ceil(number)
  if (!Number.isSafeInteger(ceiled)) throw new TypeError('A number for the database is not a safe integer.')
  return ceiled
}

/** A time that may be infinite. */
export function timeValue(ms: number): number {
  return whole(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
}

/** Digests as the JSON list that statements take. */
export function digestList(digests: Iterable<string>): string {
  return JSON.stringify(Array.from(digests, (digest) => ({ digest })))
}

/** The range of numbers that JavaScript can represent. */
export const EXACT = sql`BETWEEN -9007199254740991 AND 9007199254740991`

const DIGITS = 6
/** With `DIGITS` more digits, this number still fits in eight bytes. */
const MAX_MS = 9_000_000_000_000
let lastDigits = Math.floor(Math.random() * 10 ** DIGITS)

/** The smallest number of records whose first event was admitted at that time. */
export function leastNumberAt(ms: number): string {
  return `${Math.floor(Math.max(0, Math.min(ms, MAX_MS)))}${'0'.repeat(DIGITS)}`
}

/**
 * The number of a new record. Numbers grow with time, so inserts append to the primary key, which also finds old records. If
 * another process chose the same one, the write does not apply, and the next attempt uses another.
 */
export function newNumber({ waiting, send }: MessageRecord): string {
  lastDigits = (lastDigits + 1) % 10 ** DIGITS
  const firstMs = waiting[0]?.admittedAtMs ?? send?.sentAtMs ?? 0
  return leastNumberAt(firstMs).slice(0, -DIGITS) + String(lastDigits).padStart(DIGITS, '0')
}

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
  readonly version: string
}

export type RowReader = ReturnType<typeof createRowReader>

export function createRowReader(columns: ColumnReader) {
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
    /** The key of the record in this row. */
    keyIn: (row: Row): string => digest(row, 'digest'),
    recordIn: (row: Row): RecordRow => ({
      number: digits(row, 'number'),
      key: digest(row, 'digest'),
      version: text(row, 'version'),
      state: joinRecord(text(row, 'state'), isNull(row, 'reports') ? '' : text(row, 'reports')),
      send: isNull(row, 'send') ? undefined : text(row, 'send'),
      sentAtMs: integerOrNone(row, 'sent_at') ?? 0,
      overdueAtMs: integerOrNone(row, 'overdue_at'),
    }),
    payloadColumnsIn,
    payloadIn: (row: Row): StoredPayload => storedPayload(payloadColumnsIn(row)),
  }
}

export function isNull(row: Row, column: string): boolean {
  return row[column] === null
}
