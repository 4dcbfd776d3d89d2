/**
 * Values in the text of statements and in the rows of answers. A batch has a statement of its own length, so values are written
 * into the text and nothing is prepared. All text is stored as bytes: no character set or collation of a server, connection or
 * table can change or equate them. Statements are ASCII, and answers are read as the server's bytes.
 */
import { createRowReader, hexIn, isPlain, quoted, type Row } from '../sql/values.ts'
import { unusable } from '../stored.ts'

export function digestValue(digest: string): string {
  return `x'${hexIn(digest)}'`
}

/** The bytes of a text as a value. */
export function textValue(text: string): string {
  return isPlain(text) ? quoted(text) : `x'${Buffer.from(text).toString('hex')}'`
}

export function bytesValue(bytes: Buffer): string {
  const latin1 = bytes.toString('latin1')
  return isPlain(latin1) ? quoted(latin1) : `x'${bytes.toString('hex')}'`
}

/** A condition that a column has one of these digests. */
export function isOneOf(column: string, digests: readonly string[]): string {
  return `${column} IN (${digests.map(digestValue).join(', ')})`
}

/** The text of bytes, and of numbers, which are read as the server's bytes too. */
function text(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('utf8') ?? unusable(column)
}

function digest(row: Row, column: string): string {
  return bytesOrNone(row, column)?.toString('hex') ?? unusable(column)
}

function bytesOrNone(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return Buffer.isBuffer(value) ? value : undefined
}

export const rowReader = createRowReader({ digits: text, digest, text, bytesOrNone })
export const { digits, integer, integerOrNone, keyIn } = rowReader
