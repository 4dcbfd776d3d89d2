/** Names and placeholders in the text of statements. */

/** The server's clock in milliseconds, the same in all statements of one round trip. */
export const SERVER_NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** Inserts the schema into a statement without values. */
export function inSchema(statement: string, schema: string): string {
  return statement.replaceAll('{schema}', quoteName(schema))
}

/** Replaces each `:name` by a value of hexadecimal or decimal digits, which need no quoting. */
export function fill(statement: string, values: Readonly<Record<string, string>>): string {
  return statement.replace(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
    const value = values[name]
    if (value === undefined || !/^[0-9a-f]*$/.test(value)) throw new TypeError(`A statement has no digits for ${name}.`)
    return `'${value}'`
  })
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
