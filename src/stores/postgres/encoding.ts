/**
 * Values in the text of statements and in the rows of answers. Several statements fit into one round trip only without
 * parameters, so values are written into the text: numbers and bytes. Text is sent as bytes: JSON escapes lone surrogates and
 * NUL, and bytea accepts anything. Answers are read as the server's text, whatever parsers the application has set; digests as
 * hexadecimal digits, other bytes in the format `escape`.
 */
import { createRowReader, hexIn, isNull, isPlain, orNull, quoted, type Row } from '../sql/values.ts'
import { unusable } from '../stored.ts'
import { parameter } from './plans.ts'

export function digestValue(digest: string): string {
  return `E'\\\\x${hexIn(digest)}'`
}

function digestsValue(digests: readonly string[]): string {
  return `E'{${digests.map((digest) => `"\\\\\\\\x${hexIn(digest)}"`).join()}}'`
}

/** A condition that a column has one of these digests. */
export function isOneOf(column: string, digests: readonly string[]): string {
  const [digest] = digests
  return digest !== undefined && digests.length === 1
    ? `${column} = ${parameter(digestValue(digest), 'bytea')}`
    : `${column} = ANY (${parameter(digestsValue(digests), 'bytea[]')})`
}

/** Bytes as a value. Each character stands for one byte. */
function bytesValue(latin1: string): string {
  return isPlain(latin1) ? quoted(latin1) : digestValue(Buffer.from(latin1, 'latin1').toString('hex'))
}

/** The UTF-8 bytes of a text, each as one character. */
export function bytesOf(text: string): string {
  return isPlain(text) ? text : Buffer.from(text).toString('latin1')
}

/** The bytes of a text as a value. */
export function textValue(text: string): string {
  return bytesValue(bytesOf(text))
}

/**
 * A column of several rows: numbers as digits, digests in hexadecimal, bytes as characters. No value is empty if another is
 * undefined.
 */
export interface Column {
  readonly name: string
  readonly type: 'integer' | 'bigint' | 'digest' | 'bytes'
  readonly values: readonly (string | undefined)[]
}

const VALUE_OF = { integer: String, bigint: String, digest: digestValue, bytes: bytesValue }
const SQL_TYPE = { integer: 'integer', bigint: 'bigint', digest: 'bytea', bytes: 'bytea' }

/** Rows of values in a statement. The values of a single row are written where they are used; several rows form a table. */
export function rowsOf(
  name: string,
  columns: readonly Column[],
): { readonly table: string | undefined; readonly from: string; value(column: string): string } {
  const isOne = columns[0]?.values.length === 1
  const values = new Map(columns.map((column) => [column.name, isOne ? valueIn(column) : `${name}.${column.name}`]))
  return {
    table: isOne ? undefined : `${name} AS (${rowsQuery(columns)})`,
    from: isOne ? '' : `FROM ${name}`,
    value: (column) => values.get(column) ?? 'NULL',
  }
}

function valueIn({ type, values: [value] }: Column): string {
  return parameter(orNull(value, VALUE_OF[type]), SQL_TYPE[type])
}

/** A query for rows of values. The server parses one array per column twice as fast as a list of rows. */
export function rowsQuery(columns: readonly Column[]): string {
  if (columns[0]?.values.length === 1)
    return `SELECT ${columns.map((column) => `${valueIn(column)} AS ${column.name}`).join(', ')}`
  const arrays = columns.map(arrayOf)
  return `SELECT ${arrays.map(({ value }) => value).join(', ')} FROM unnest(${arrays.map(({ array }) => array).join(', ')})
  AS x (${columns.map(({ name }) => name).join(', ')})`
}

/** An array literal, and the expression for its elements. */
function arrayOf({ name, type, values }: Column): { readonly array: string; readonly value: string } {
  if (type === 'integer' || type === 'bigint')
    return {
      array: parameter(`'{${values.map((value) => value ?? 'NULL').join(',')}}'`, `${type}[]`),
      value: `x.${name}`,
    }
  const none = values.includes(undefined) ? `, ''` : ''
  if (type === 'bytes' && values.every((value) => value === undefined || isPlain(value)))
    return {
      array: `string_to_array(${parameter(quoted(values.join('\n')), 'text')}, E'\\n'${none})`,
      value: `x.${name}::bytea AS ${name}`,
    }
  const digits =
    type === 'digest' ? values : values.map((value) => value && Buffer.from(value, 'latin1').toString('hex'))
  const array = `string_to_array(${parameter(quoted(digits.join(',')), 'text')}, ','${none})`
  return { array, value: `decode(x.${name}, 'hex') AS ${name}` }
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : unusable(column)
}

export function truth(row: Row, column: string): boolean {
  const value = row[column]
  return value === 't' || value === 'f' ? value === 't' : unusable(column)
}

/** Decodes bytes that hold UTF-8 text. */
function textOf(row: Row, column: string): string {
  const escaped = text(row, column)
  return escaped.includes('\\') ? Buffer.from(unescaped(escaped), 'latin1').toString('utf8') : escaped
}

function bytesOrNone(row: Row, column: string): Buffer | undefined {
  if (isNull(row, column)) return undefined
  const escaped = text(row, column)
  return Buffer.from(escaped.includes('\\') ? unescaped(escaped) : escaped, 'latin1')
}

/** A backslash is doubled, and a non-ASCII byte is a backslash with three octal digits. */
function unescaped(escaped: string): string {
  return escaped.replace(/\\(?:\\|([0-7]{3}))/g, (_, octal?: string) =>
    octal === undefined ? '\\' : String.fromCharCode(Number.parseInt(octal, 8)),
  )
}

export const rowReader = createRowReader({ digits: text, digest: text, text: textOf, bytesOrNone })
export const { integer, integerOrNone, keyIn } = rowReader

/** The server's clock in milliseconds, the same in all statements of one round trip. */
export const SERVER_NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
