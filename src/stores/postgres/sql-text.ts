/**
 * Statements as text that is complete in itself. Several statements travel in one round trip only without parameters, so
 * theirs are written into the text; only numbers, truths and hexadecimal digits can be, which need no quoting.
 */

/** A piece of SQL that is safe to put into a statement. */
export interface Piece {
  readonly sql: string
}

type Value = number | boolean | string | readonly (number | string)[] | Piece

/** The server's clock, in milliseconds: one and the same in all statements of one round trip. */
export const SERVER_NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** Puts the schema, and the server's clock, into a statement. */
export function inSchema(statement: string, schema: string): string {
  return statement.replaceAll('{schema}', quoteName(schema)).replaceAll('{now}', SERVER_NOW)
}

/** Puts a value in the place of each `:name`. */
export function fill(statement: string, values: Readonly<Record<string, Value>>): string {
  return statement.replace(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new TypeError(`A statement has no value for ${name}.`)
    return literal(value)
  })
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(value: Value): string {
  if (typeof value === 'number') return `(${whole(value)})`
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return `'${digits(value)}'`
  if ('sql' in value) return `(${value.sql})`
  // An empty text has to be quoted in an array.
  return `'{${value.map((item) => (typeof item === 'number' ? whole(item) : `"${digits(item)}"`)).join(',')}}'`
}

function whole(value: number): string {
  const rounded = Math.ceil(value)
  if (!Number.isSafeInteger(rounded)) throw new TypeError('A number for the database is not one.')
  return String(rounded)
}

function digits(value: string): string {
  if (!/^[0-9a-f]*$/.test(value)) throw new TypeError('A digest for the database has other than hexadecimal digits.')
  return value
}
