/** The text of statements: names, and what stands for a value or for the server's clock. */

/** The server's clock, in milliseconds: one and the same in all statements of one round trip. */
export const SERVER_NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** Puts the schema into a statement without values. */
export function inSchema(statement: string, schema: string): string {
  return statement.replaceAll('{schema}', quoteName(schema))
}

/** Puts a value in the place of each `:name`: hexadecimal or other digits, which need no quoting. */
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
