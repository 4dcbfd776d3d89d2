/**
 * Values in the text of statements and in the rows of answers. A batch has a statement of its own length, so values are written
 * into the text and nothing is prepared. All text is stored as bytes: no character set or collation of a server, connection or
 * table can change or equate them. Statements are ASCII, and answers are read as the server's bytes.
 */

/** ASCII is half as long as hexadecimal digits. Excludes backslashes, which may escape, and control characters. */
const PLAIN = /^[ -[\]-~]*$/

/** A digest as a value. */
export function digestValue(digest: string): string {
  if (!/^[0-9a-f]*$/.test(digest) || digest.length % 2 !== 0)
    throw new TypeError('A digest contains characters other than hexadecimal digits.')
  return `x'${digest}'`
}

/** The bytes of a text as a value. */
export function textValue(text: string): string {
  return PLAIN.test(text) ? quoted(text) : `x'${Buffer.from(text).toString('hex')}'`
}

export function bytesValue(bytes: Buffer): string {
  const latin1 = bytes.toString('latin1')
  return PLAIN.test(latin1) ? quoted(latin1) : `x'${bytes.toString('hex')}'`
}

export function numberValue(number: number): string {
  const whole = Math.ceil(number)
  if (!Number.isSafeInteger(whole)) throw new TypeError('A number for the database is not one.')
  return String(whole)
}

export function orNull<T>(value: T | undefined, written: (value: T) => string): string {
  return value === undefined ? 'NULL' : written(value)
}

/** A condition that a column has one of these digests. */
export function isOneOf(column: string, digests: readonly string[]): string {
  return `${column} IN (${digests.map(digestValue).join(', ')})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A row of an answer: the bytes of each column, or null. */
export type Row = Readonly<Record<string, unknown>>

export function integer(row: Row, column: string): number {
  const number = Number(textOf(row, column))
  return Number.isSafeInteger(number) ? number : unusable(column)
}

export function integerOrNone(row: Row, column: string): number | undefined {
  return isNull(row, column) ? undefined : integer(row, column)
}

export function digestOf(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('hex') ?? unusable(column)
}

export function textOf(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('utf8') ?? unusable(column)
}

/** Bytes, or undefined if the column is null. */
export function bytesOrNone(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return Buffer.isBuffer(value) ? value : undefined
}

export function isNull(row: Row, column: string): boolean {
  return row[column] === null
}

function unusable(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}
