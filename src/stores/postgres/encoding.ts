/**
 * Values in the text of a statement, and in the rows of an answer. Several statements travel in one round trip only without
 * parameters, so theirs are written into the text: numbers, and bytes as hexadecimal digits, which need no quoting. Texts go as
 * bytes: JSON escapes lone surrogates and NUL, and bytea has no opinion on what is text. Answers are read as the text that the
 * server sent, whatever parsers the application has set for its own queries; bytes are asked for as digits.
 */
export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** A digest as a value. */
export function digestValue(digest: string): string {
  if (!/^[0-9a-f]*$/.test(digest) || digest.length % 2 !== 0)
    throw new TypeError('A digest has other than hexadecimal digits.')
  return `E'\\\\x${digest}'`
}

export function bytesValue(bytes: Buffer): string {
  return `E'\\\\x${bytes.toString('hex')}'`
}

export function textValue(text: string): string {
  return bytesValue(Buffer.from(text))
}

export function numberValue(number: number): string {
  const whole = Math.ceil(number)
  if (!Number.isSafeInteger(whole)) throw new TypeError('A number for the database is not one.')
  return whole < 0 ? `(${whole})` : String(whole)
}

export function orNull<T>(value: T | undefined, written: (value: T) => string): string {
  return value === undefined ? 'NULL' : written(value)
}

/** Rows of values. The types of the first row are those of all. */
export function valuesList(rows: readonly (readonly string[])[], types: readonly string[]): string {
  const [first = [], ...rest] = rows
  const typed = first.map((value, index) => `${value}::${types[index] ?? 'text'}`)
  return `VALUES ${[typed, ...rest].map((row) => `(${row.join(', ')})`).join(', ')}`
}

export type Row = Readonly<Record<string, unknown>>

export function integer(row: Row, column: string): number {
  const value = row[column]
  const number = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN
  return Number.isSafeInteger(number) ? number : unusable(column)
}

export function integerOrNone(row: Row, column: string): number | undefined {
  return isNull(row, column) ? undefined : integer(row, column)
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : unusable(column)
}

export function truth(row: Row, column: string): boolean {
  const value = row[column]
  return value === 't' || value === 'f' ? value === 't' : unusable(column)
}

export function bytes(row: Row, column: string): Buffer {
  return Buffer.from(text(row, column), 'hex')
}

/** Bytes that may be missing. */
export function bytesOrNone(row: Row, column: string): Buffer | undefined {
  return isNull(row, column) ? undefined : bytes(row, column)
}

export function isNull(row: Row, column: string): boolean {
  return row[column] === null
}

function unusable(column: string): never {
  throw new Error(`The database has no usable ${column} in a row that must have one.`)
}
